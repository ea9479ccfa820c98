import type { EventReader } from "./event-reader.ts";
import { type Fields, failureIn, fieldsOf, numbersIn, textIn, wordIn } from "./fields.ts";

/** What a part of a stream needs beside its type, each a text. */
const needs: Readonly<Record<string, readonly string[]>> = {
  "text-start": ["id"],
  "text-delta": ["id", "delta"],
  "text-end": ["id"],
  "reasoning-start": ["id"],
  "reasoning-delta": ["id", "delta"],
  "reasoning-end": ["id"],
  "tool-input-start": ["id", "toolName"],
  "tool-input-delta": ["id", "delta"],
  "tool-input-end": ["id"],
  "tool-call": ["toolCallId", "toolName", "input"],
  "tool-result": ["toolCallId", "toolName"],
};

/** Vercel AI Gateway streams the AI SDK's own parts, and its client hands on whatever comes. */
export class GatewayEvents implements EventReader {
  read(event: Fields): readonly object[] {
    const type = wordIn(event.type);
    if (type === undefined) {
      const failure = failureIn(event.error);
      return failure === undefined ? [] : [{ type: "error", error: failure }];
    }
    const fields = needs[type];
    if (fields !== undefined) return fields.every((name) => textIn(event[name]) !== undefined) ? [event] : [];
    switch (type) {
      case "finish":
        return [{ ...event, finishReason: reasonOf(event.finishReason), usage: usageOf(fieldsOf(event.usage)) }];
      case "error":
        return [{ type, error: failureIn(event.error) ?? { message: "" } }];
      case "file": {
        const data = fieldsOf(event.data);
        const isWhole =
          wordIn(event.mediaType) !== undefined && data?.type === "data" && wordIn(data.data) !== undefined;
        return isWhole ? [event] : [];
      }
      case "source":
        return wordIn(event.id) !== undefined && (event.sourceType !== "url" || wordIn(event.url) !== undefined)
          ? [event]
          : [];
      case "response-metadata":
        return [{ type, id: wordIn(event.id), modelId: wordIn(event.modelId) }];
      default:
        return [];
    }
  }

  end(): readonly object[] {
    return [];
  }
}

function reasonOf(value: unknown): object {
  const reason = fieldsOf(value);
  const unified = wordIn(reason?.unified) ?? wordIn(value) ?? "other";
  return { unified, raw: textIn(reason?.raw) ?? unified };
}

function usageOf(usage: Fields | undefined): object {
  return {
    inputTokens: numbersIn(usage?.inputTokens, ["total", "noCache", "cacheRead", "cacheWrite"]),
    outputTokens: numbersIn(usage?.outputTokens, ["total", "text", "reasoning"]),
  };
}
