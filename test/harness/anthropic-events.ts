/** Anthropic's messages on the wire, for vendors of the tests' own. */

interface Event {
  readonly type: string;
  readonly [name: string]: unknown;
}

/** What makes a response a stream of server-sent events. */
export const eventStream = { headers: { "content-type": "text/event-stream" } };

/** Events as text. */
export function textOf(...list: readonly Event[]): string {
  return list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** A response of events. */
export function events(...list: readonly Event[]): () => Response {
  return () => new Response(textOf(...list), eventStream);
}

const usage = { input_tokens: 7, output_tokens: 1 };
/** How a message begins. */
export const opening = {
  type: "message_start",
  message: { id: "m", type: "message", role: "assistant", model: "c", content: [], usage },
};

/** A block of a message: how it begins, and its pieces. */
export function block(index: number, begins: object, ...pieces: readonly object[]) {
  return [
    { type: "content_block_start", index, content_block: begins },
    ...pieces.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

/** A thought in pieces, signed. */
export function thought(index: number, text: string) {
  const pieces = [...text].map((thinking) => ({ type: "thinking_delta", thinking }));
  return block(index, { type: "thinking", thinking: "" }, ...pieces, {
    type: "signature_delta",
    signature: `by ${text}`,
  });
}

/** A text in one piece. */
export function said(index: number, text: string) {
  return block(index, { type: "text", text: "" }, { type: "text_delta", text });
}

/** A call, its input in pieces. */
export function call(index: number, id: string, name: string, ...pieces: readonly string[]) {
  const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return block(index, { type: "tool_use", id, name, input: {} }, ...deltas);
}

/** How a message ends. */
export function closing(reason: string) {
  const delta = { stop_reason: reason, stop_sequence: null };
  return [{ type: "message_delta", delta, usage: { output_tokens: 3 } }, { type: "message_stop" }];
}

/** The vendor gives up in the middle. */
export const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
/** A failure that may be tried again at once. */
export const failed = () =>
  Response.json({ error: { message: "No." } }, { status: 500, headers: { "retry-after-ms": "0" } });

/** A response that is a whole message. */
export function message(reason: string, ...blocks: readonly ReturnType<typeof block>[]) {
  return events(opening, ...blocks.flat(), ...closing(reason));
}

/** A message of one word. */
export const yes = message("end_turn", said(0, "Yes."));
