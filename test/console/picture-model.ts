/** A vendor of models that speaks OpenAI's protocol and knows a shoe shop, so that the pictures hold what people say. */

import { listen } from "../../src/kernel/runtime.ts";

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

interface Call {
  readonly name: string;
  readonly args: object;
}

/** What is answered to a question that has these words; the first that fits. */
const answers: readonly (readonly [RegExp, string])[] = [
  [/[\u0600-\u06ff]/, "طردك غادر مستودعنا هذا الصباح، وسيصل غدًا قبل الساعة السادسة مساءً."],
  [/[\u3040-\u30ff]/, "ご注文の靴は**明日の午前中**に到着する予定です。"],
  [/Paket/, "Ihr Paket ist unterwegs und kommt voraussichtlich **morgen** an."],
  [
    /order|parcel/i,
    "It left our store this morning.\n\n| Item | Qty | Price |\n|:--|--:|--:|\n| Running shoe | 1 | 89.00 |\n| Socks | 3 | 12.50 |\n\nIt arrives **tomorrow before noon**.",
  ],
  [
    /return|small/i,
    "Send them back within 30 days, unworn:\n\n1. Print the label from your account.\n2. Put it on the box.\n3. Hand it in at any post office.",
  ],
  [/Sunday/, "Only the one at the harbour, from 10:00 to 16:00."],
  [/review/, "Thank you for telling us. We are sorry that the box came late, and have asked our carrier why."],
];

/** What is done first about a question that has these words, where the agent has the tool. */
const calls: readonly (readonly [RegExp, Call])[] = [
  [/size 42/, { name: "memory_save", args: { text: "Wears size 42." } }],
  [/shop is near/, { name: "locate", args: {} }],
  [/Look up/, { name: "memory_search", args: { query: "order" } }],
  [/price list/, { name: "bash", args: { command: "wc -l prices.csv && head -3 prices.csv" } }],
];

const tooLong = {
  message:
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 182331 tokens. Please reduce the length of the messages.",
  type: "invalid_request_error",
  code: "context_length_exceeded",
};

/** Starts it on a free port. */
export function startPictureModel(): { readonly url: string; stop(): Promise<void> } {
  const service = listen({ hostname: "127.0.0.1", port: 0, fetch: respond });
  return { url: `http://127.0.0.1:${service.port}/v1`, stop: () => service.stop(true) };
}

async function respond(request: Request): Promise<Response> {
  const asked = (await request.json()) as Asked;
  const last = asked.messages.at(-1);
  const question = String(asked.messages.findLast(({ role }) => role === "user")?.content ?? "");
  if (/whole catalogue/.test(question))
    return Response.json({ error: tooLong }, { status: 400, headers: { "x-request-id": "req_8f2c41d0a9" } });
  const offered = new Set(asked.tools?.map(({ function: { name } }) => name));
  const call = calls.find(([words, { name }]) => words.test(question) && offered.has(name))?.[1];
  if (call !== undefined && last?.role === "user") return stream(asked, [{ tool_calls: [callOf(call)] }], "tool_calls");
  const text = answers.find(([words]) => words.test(question))?.[1] ?? "Of course. What is the number of your order?";
  return stream(
    asked,
    (text.match(/[\s\S]{1,24}/g) ?? []).map((content) => ({ content })),
    "stop",
  );
}

function callOf({ name, args }: Call) {
  return { index: 0, id: `call_${name}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function stream({ model, messages }: Asked, deltas: readonly object[], finishReason: string): Response {
  const about = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model };
  const prompt = 400 + JSON.stringify(messages).length;
  const usage = {
    ...{ prompt_tokens: prompt, completion_tokens: 20 + 6 * deltas.length },
    prompt_tokens_details: { cached_tokens: Math.floor(prompt / 2) },
  };
  const chunks = [
    ...deltas.map((delta) => ({ ...about, choices: [{ index: 0, delta, finish_reason: null }] })),
    { ...about, choices: [{ index: 0, delta: {}, finish_reason: finishReason }] },
    { ...about, choices: [], usage },
  ];
  const body = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
