import { describe, expect, test } from "bun:test";
import { answerBytesMax } from "../../../src/kernel/limits.ts";
import { useAgent } from "../../harness/fixture.ts";
import { userMessage } from "../../harness/seed.ts";
import { messagesOf, play, script, textOf, usageOf } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

/** A session of one exchange; returns its id. */
async function newSession(): Promise<string> {
  return (await play(t, agentId, null, { message: userMessage("hi"), stream: false })).sessionId;
}

describe("sizes", () => {
  test("502 provider_error: one byte more than 16 MiB fails the turn, and no more of it is taken in; 16 MiB are kept whole", async () => {
    const sessionId = await newSession();
    // What the chunks around the text weigh counts too.
    const fits = answerBytesMax - 1024;
    const whole = await play(t, agentId, sessionId, { message: script(`size=${fits}`), stream: false });
    expect([whole.status, whole.body.message?.parts[1].text.length]).toEqual([200, fits]);
    const before = await h.sql`select count(*) from messages where session_id = ${sessionId}`;
    const message = script(`size=${2 * answerBytesMax}`);
    const over = await play(t, agentId, sessionId, { message });
    expect(over.chunks.at(-1)).toEqual({ type: "error", errorText: "The answer is larger than 16 MiB." });
    expect(textOf(over.chunks).length).toBeLessThanOrEqual(answerBytesMax + 1000);
    const waited = await play(t, agentId, sessionId, { message, stream: false });
    expect([waited.status, waited.body.error.code]).toEqual([502, "provider_error"]);
    expect(await h.sql`select count(*) from messages where session_id = ${sessionId}`).toEqual(before);
    expect(await usageOf(h, waited.turnId)).not.toBeNull();
    const next = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    expect(next.status).toBe(201);
  }, 120_000);

  test("10,000 chunks in a burst arrive in order, streamed and stored alike", async () => {
    const sessionId = await newSession();
    const played = await play(t, agentId, sessionId, { message: script("chunks=10000") });
    const text = Array.from({ length: 10_000 }, (_, index) => `chunk-${index + 1} `).join("");
    expect(textOf(played.chunks)).toBe(text);
    expect((await messagesOf(t, agentId, sessionId)).at(-1).parts[1].text).toBe(text);
  });
});

describe("texts", () => {
  const texts: [what: string, settings: string, text: string][] = [
    ["NUL becomes U+FFFD", 'text="a\\u0000b \\u0000 c"', "a\ufffdb \ufffd c"],
    ["lone surrogates become U+FFFD", 'text="x\\ud83d y\\ude00 \\ud83d"', "x\ufffd y\ufffd \ufffd"],
    ["pairs split over two chunks are joined", 'text="😀 a😀b 👩‍👩‍👧" splitPairs', "😀 a😀b 👩‍👩‍👧"],
    [
      "half a pair at the end of a chunk, then none",
      'text="a\\ud83d b\\ud83d\\ud83d\\ude00" chunks=12',
      "a\ufffd b\ufffd😀",
    ],
    [
      "CR, LF and what looks like an event stay",
      'text="a\\r\\nb\\rc\\n\\nd\\u2028data: [DONE]\\n\\nid: x\\n"',
      "a\r\nb\rc\n\nd\u2028data: [DONE]\n\nid: x\n",
    ],
  ];
  test.each(texts)("from the model: %s, the same streamed and stored", async (_what, settings, text) => {
    const sessionId = await newSession();
    const played = await play(t, agentId, sessionId, { message: script(settings) });
    expect(textOf(played.chunks)).toBe(text);
    const [, , , answer] = await messagesOf(t, agentId, sessionId);
    expect(answer.parts[1].text).toBe(text);
  });

  test("from the model: reasoning and tool calls too", async () => {
    const sessionId = await newSession();
    const message = script(
      'reasoning="a\\u0000\\ud83d" tool=nothing args={"k\\u0000":["\\ud800","\\u0000"]}; text=fine',
    );
    const played = await play(t, agentId, sessionId, { message });
    expect(played.chunks.at(-1)).toMatchObject({ type: "finish" });
    const [, , , answer] = await messagesOf(t, agentId, sessionId);
    const [, reasoning, call] = answer.parts;
    expect(reasoning.text).toBe("a\ufffd\ufffd");
    expect(call.input).toEqual({ "k\ufffd": ["\ufffd", "\ufffd"] });
    const [row] =
      await h.sql`select content::text as text from messages where session_id = ${sessionId} order by seq desc limit 1`;
    expect(row?.text).not.toMatch(/\\u0000|\\ud8/i);
  });
});
