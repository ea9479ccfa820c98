import type { ProviderType } from "../../kernel/config.ts";
import { anthropicUsageIn } from "./anthropic-events.ts";
import { chatUsageIn, contentIn, firstChoice } from "./chat-events.ts";
import { type Fields, fieldsOf, numbersIn, objectsIn, textIn, wordIn } from "./fields.ts";
import { googleUsageIn } from "./google-events.ts";
import { responsesUsageIn } from "./responses-events.ts";

/**
 * What a model says that was asked for without a stream, as for the summary of a transcript: of it the
 * text, why it ended and the tokens are used.
 */

/** Returns an answer with the fields that are used, as its vendor's client reads it. */
export function readableAnswer(providerType: ProviderType, url: string, answer: Fields): object {
  if (answer.error !== undefined && answer.error !== null) return answer;
  switch (providerType) {
    case "llm_vendor_a":
      return new URL(url).pathname.endsWith("/responses") ? responsesAnswer(answer) : chatAnswer(answer);
    case "llm_vendor_b":
      return anthropicAnswer(answer);
    case "llm_vendor_c":
      return googleAnswer(answer);
    case "gateway":
      return gatewayAnswer(answer);
    case "router_vendor":
    case "custom":
      return chatAnswer(answer);
  }
}

function chatAnswer(answer: Fields): object {
  const choice = firstChoice(answer.choices);
  const { content } = contentIn(fieldsOf(choice?.message)?.content);
  const message = { role: "assistant", content: content ?? "" };
  const said = { index: 0, message, finish_reason: textIn(choice?.finish_reason) ?? "" };
  return { ...about(answer), choices: choice === undefined ? [] : [said], usage: chatUsageIn(answer.usage) };
}

function responsesAnswer(answer: Fields): object {
  const said = objectsIn(answer.output).flatMap(({ content }) => textsIn(content, "output_text"));
  const content = [{ type: "output_text", text: said.join(""), annotations: [] }];
  const reason = wordIn(fieldsOf(answer.incomplete_details)?.reason);
  return {
    ...about(answer),
    created_at: 0,
    output: [{ type: "message", role: "assistant", id: "msg_0", content }],
    ...(reason === undefined ? {} : { incomplete_details: { reason } }),
    usage: responsesUsageIn(answer.usage) ?? { input_tokens: 0, output_tokens: 0 },
  };
}

function anthropicAnswer(answer: Fields): object {
  return {
    type: "message",
    ...about(answer),
    content: textsIn(answer.content, "text").map((text) => ({ type: "text", text })),
    stop_reason: textIn(answer.stop_reason) ?? "",
    usage: { input_tokens: 0, output_tokens: 0, ...anthropicUsageIn(answer.usage) },
  };
}

function googleAnswer(answer: Fields): object {
  const candidate = objectsIn(answer.candidates)[0];
  const said = objectsIn(fieldsOf(candidate?.content)?.parts).filter(({ thought }) => thought !== true);
  const parts = said.flatMap(({ text }) => (textIn(text) === undefined ? [] : [{ text }]));
  return {
    candidates:
      candidate === undefined ? [] : [{ content: { parts }, finishReason: textIn(candidate.finishReason) ?? "" }],
    usageMetadata: googleUsageIn(answer.usageMetadata),
  };
}

function gatewayAnswer(answer: Fields): object {
  const content = textsIn(answer.content, "text").map((text) => ({ type: "text", text }));
  const usage = fieldsOf(answer.usage);
  const unified = wordIn(fieldsOf(answer.finishReason)?.unified) ?? "other";
  return {
    content,
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: numbersIn(usage?.inputTokens, ["total", "noCache", "cacheRead", "cacheWrite"]) ?? {},
      outputTokens: numbersIn(usage?.outputTokens, ["total", "text", "reasoning"]) ?? {},
    },
    warnings: [],
  };
}

function about({ id, model }: Fields): object {
  return { id: wordIn(id), model: wordIn(model) };
}

function textsIn(content: unknown, type: string): string[] {
  return objectsIn(content).flatMap((part) => (part.type === type ? (textIn(part.text) ?? []) : []));
}
