import { startVendor, type VendorServer } from "./vendor.ts";

/** What the model says wherever it calls no tool. */
export const spokenText = "One, two, three.";

interface ModelBody {
  readonly messages: readonly { readonly role: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/**
 * Starts a model endpoint (chat completions, streamed) whose model calls the first tool that it is
 * offered with a location in San Francisco, and says something once it has the result or is offered none.
 */
export function startToolCaller(): VendorServer {
  return startVendor(({ body }) => {
    const { messages, tools = [] } = body as ModelBody;
    const tool = messages.at(-1)?.role === "tool" ? undefined : tools[0]?.function.name;
    return tool === undefined ? spoken() : called(tool);
  });
}

function spoken(): Response {
  const pieces = spokenText.split(" ").map((word, place) => (place === 0 ? word : ` ${word}`));
  return stream([...pieces.map((content) => choice({ content })), choice({}, "stop")]);
}

function called(name: string): Response {
  const given = { name, arguments: '{"location":"San Francisco, CA"}' };
  const call = { index: 0, id: `call_${crypto.randomUUID().slice(0, 8)}`, type: "function", function: given };
  return stream([choice({ tool_calls: [call] }), choice({}, "tool_calls")]);
}

function choice(delta: object, reason: string | null = null): object {
  return { choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: reason }] };
}

function stream(parts: readonly object[]): Response {
  const about = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "tool-caller" };
  const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };
  const events = [...parts, usage].map((part) => `data: ${JSON.stringify({ ...about, ...part })}\n\n`);
  return new Response(`${events.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}
