import { call, eventStream, message, said } from "../harness/anthropic-events.ts";
import type { VendorRequest } from "./vendor.ts";

/** How a vendor says two things on the wire: that it calls a tool, and a text. */
export interface VendorWords {
  readonly call: (tool: string, input?: object) => Response;
  readonly text: (text: string) => Response;
  /** Whether a request has the result of a tool for the model's last call. */
  readonly isAnswered: (request: VendorRequest) => boolean;
}

const lines = (...events: readonly object[]) =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), eventStream);

const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const chat: VendorWords = {
  call: (name, input = {}) =>
    lines(
      {
        id: "c",
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                { index: 0, id: "call_0", type: "function", function: { name, arguments: JSON.stringify(input) } },
              ],
            },
            finish_reason: null,
          },
        ],
      },
      { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
      { id: "c", choices: [], usage },
    ),
  text: (content) =>
    lines(
      { id: "c", choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] },
      { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { id: "c", choices: [], usage },
    ),
  isAnswered: ({ body }) => body.messages.at(-1).role === "tool",
};
const anthropic: VendorWords = {
  call: (name, input = {}) => message("tool_use", call(0, "call_0", name, JSON.stringify(input)))(),
  text: (text) => message("end_turn", said(0, text))(),
  isAnswered: ({ body }) => body.messages.at(-1).content.some(({ type }: { type: string }) => type === "tool_result"),
};
const google: VendorWords = {
  call: (name, args = {}) => googleSays({ functionCall: { name, args } }),
  text: (text) => googleSays({ text }),
  isAnswered: ({ body }) => "functionResponse" in body.contents.at(-1).parts[0],
};

function googleSays(part: object): Response {
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };
  const content = { role: "model", parts: [part] };
  return lines({ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata });
}

/** By the type that a provider has in the interface. */
export const vendorWords = { custom: chat, openai: chat, openrouter: chat, anthropic, google } as const;
