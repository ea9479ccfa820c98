import { afterAll, describe, expect, test } from "bun:test";
import { closing, eventStream, opening, said, textOf } from "../../harness/anthropic-events.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { play } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";

/**
 * One odd event amid a good answer costs that event alone. Each of these was reported by users of
 * some server that speaks a vendor's protocol (docs/interoperability.md, "What strangers send").
 */

const { h, t } = await useTenant({ worker: true });

let answer = "";
const vendor = startVendor(({ body }) =>
  body === null ? new Response("no", { status: 404 }) : new Response(answer, eventStream),
);
afterAll(() => vendor.stop());

const event = (value: object, name?: string) =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
const spoken = (text: string, more: object = {}) => ({
  id: "c",
  choices: [{ index: 0, delta: { content: text, ...more }, finish_reason: null }],
});
const chatEnd = { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
const chatUsage = { id: "c", choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };
const done = "data: [DONE]\n\n";

/** Events that hold nothing, whatever the protocol. */
const anywhere: readonly string[] = [
  ": keep-alive\n\n",
  ":\n",
  "data:\n\n",
  "data: \n\n",
  "data: heartbeat\n\n",
  "data: null\n\n",
  "data: []\n\n",
  "data: 5\n\n",
  'data: "ping"\n\n',
  "data: {\n\n",
  "data: undefined\n\n",
  "data: {}\n\n",
  'data: {"ping":true}\n\n',
  'event: ping\ndata: {"type":"ping","cost":"0"}\n\n',
  "event: heartbeat\n\n",
  "id: 7\nretry: 3000\n\n",
  'data: {"error":null}\n\n',
  'data: {"error":{}}\n\n',
  'data: {"type":"a_type_of_next_year","index":0}\n\n',
];

const chatOnly: readonly object[] = [
  { id: "c", choices: null },
  { id: "c", choices: [] },
  { id: "c", choices: [null] },
  { id: "c", choices: {} },
  { id: "c", choices: [{}] },
  { id: "c", choices: [{ index: 0, delta: null }] },
  { id: "c", choices: [{ index: 0, delta: { role: "assistant", content: null } }] },
  { id: "c", choices: [{ index: 0, delta: { role: "model", content: 5 } }] },
  { id: null, created: "1700000000", model: null, choices: [{ index: 0, delta: { content: "" } }] },
  { usage: { prompt_tokens: 7, completion_tokens: 3 } },
  { id: "c", choices: [{ index: 0, delta: {}, logprobs: "none", content_filter_results: [1] }] },
  { id: "c", object: "chat.completion.chunk", prompt_filter_results: [{ prompt_index: 0 }], choices: [] },
  { id: "c", choices: [{ index: 0, delta: { tool_calls: null, annotations: null, reasoning_details: null } }] },
  { id: "c", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: null, function: null }] } }] },
  { id: "c", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { name: null, arguments: "" } }] } }] },
  { id: "c", choices: [{ index: 0, delta: { annotations: [{ type: "url_citation", url_citation: { url: null } }] } }] },
  { id: "c", choices: [{ index: 1, delta: { content: "of another choice" } }] },
  { id: "c", choices: [{ delta: {}, finish_reason: "" }] },
  { id: "c", choices: [], usage: null },
  { id: "c", choices: [], usage: { prompt_tokens: "7", completion_tokens: true, prompt_tokens_details: null } },
];

const anthropicOnly: readonly object[] = [
  { type: "ping" },
  { type: "content_block_start", index: 7, content_block: { type: "a_block_of_next_year", text: "x" } },
  { type: "content_block_stop", index: 7 },
  { type: "content_block_stop" },
  { type: "content_block_delta", index: 0, delta: { type: "a_delta_of_next_year", text: "x" } },
  { type: "content_block_delta", index: 0, delta: null },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: null } },
  { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: { type: "char_location" } } },
  { type: "content_block_delta", index: 5, delta: { type: "input_json_delta", partial_json: "{" } },
  { type: "message_delta", delta: { stop_reason: null }, usage: null },
  { type: "message_delta", delta: null },
  { type: "message_start", message: { id: "again", usage: null } },
];

const googleOnly: readonly object[] = [
  { candidates: null },
  { candidates: [] },
  { candidates: [{ content: null }] },
  { candidates: [{ content: { parts: null, role: "model" } }] },
  { candidates: [{ content: { parts: [{}, null, { text: null }, { aPartOfNextYear: {} }] } }] },
  { candidates: [{ content: { parts: [{ thought: "yes", text: "" }] }, safetyRatings: "none", finishReason: null }] },
  { candidates: [{ groundingMetadata: { groundingChunks: [{ web: { uri: null } }], webSearchQueries: null } }] },
  { usageMetadata: { promptTokenCount: "7", candidatesTokenCount: null, promptTokensDetails: [{ modality: 1 }] } },
  { usageMetadata: null, modelVersion: 3, responseId: null, promptFeedback: null },
];

interface Protocol {
  readonly parts: readonly string[];
  readonly odd: readonly object[];
}

const chat: Protocol = {
  parts: [event(spoken("Half ")), event(spoken("of it")), event(chatEnd), event(chatUsage), done],
  odd: chatOnly,
};
const anthropicAnswer = [opening, ...said(0, "Half "), ...closing("end_turn")];

const protocols: Readonly<Record<"custom" | "openai" | "openrouter" | "anthropic" | "google", Protocol>> = {
  custom: chat,
  openai: chat,
  openrouter: chat,
  anthropic: {
    parts: textOf(...anthropicAnswer)
      .split(/(?<=\n\n)/)
      .flatMap((part) => (part.includes("text_delta") ? [part, part.replace("Half ", "of it")] : [part])),
    odd: anthropicOnly,
  },
  google: {
    parts: [
      event({ candidates: [{ content: { role: "model", parts: [{ text: "Half " }] }, index: 0 }] }),
      event({
        candidates: [{ content: { role: "model", parts: [{ text: "of it" }] }, finishReason: "STOP", index: 0 }],
      }),
      event({ usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 } }),
    ],
    odd: googleOnly,
  },
};

describe.each(Object.keys(protocols) as (keyof typeof protocols)[])("%s", async (providerType) => {
  const provider = await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
  const agentId = await makeAgent(h, t, { providerId: provider.id, model: "m" });
  const { parts, odd } = protocols[providerType];
  const ask = async (sent: string) => {
    answer = sent;
    const { status, body } = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    const texts = (body.message?.parts ?? []).flatMap((part: { type: string; text?: string }) =>
      part.type === "text" ? [part.text] : [],
    );
    return { status, text: texts.join(""), finishReason: body.finishReason };
  };
  const good = { status: 201, text: "Half of it", finishReason: "stop" };

  test("an event that holds nothing of the answer costs that event alone, wherever it comes", async () => {
    expect(await ask(parts.join(""))).toEqual(good);
    const all = [...anywhere, ...odd.map((value) => event(value))];
    const amid = (events: readonly string[], at: number) =>
      ask([...parts.slice(0, at), ...events, ...parts.slice(at)].join(""));
    for (const at of [0, 1, 2, parts.length - 1]) {
      // All at once; one by one only to say which it was.
      const together = await amid(all, at);
      if (together.text !== good.text)
        for (const one of all) expect([one, at, await amid([one], at)]).toEqual([one, at, good]);
      expect([at, together]).toEqual([at, good]);
    }
  });

  test("lines end as they like, a byte order mark comes first, and the last empty line is missing", async () => {
    const sent = parts.join("");
    for (const [from, to] of [
      [/\n/g, "\r\n"],
      [/\n/g, "\r"],
      [/^/, "\ufeff"],
      [/data: /g, "data:"],
      [/\n+$/, "\n"],
    ] as const)
      expect(await ask(sent.replace(from, to))).toEqual(good);
  });

  test("a failure that is said amid the answer stays one", async () => {
    const failure = {
      type: "error",
      error: { type: "overloaded_error", message: "sk-secret", code: 503, status: "UNAVAILABLE" },
    };
    for (const at of [1, 2]) {
      const sent = [...parts.slice(0, at), event(failure, "error"), ...parts.slice(at)].join("");
      answer = sent;
      const { status, body } = await play(t, agentId, null, { message: userMessage("x"), stream: false });
      expect([status, body.error.code]).toEqual([502, "provider_error"]);
      expect(JSON.stringify(body)).not.toContain("secret");
    }
  });

  test("an event that held something of the answer and cannot be read fails the turn", async () => {
    const torn = (parts[1] as string).replace(/.{3}\n\n$/, "\n\n");
    expect((await ask([...parts.slice(0, 1), torn, ...parts.slice(2)].join(""))).status).toBe(502);
  });
});
