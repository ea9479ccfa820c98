import { expect, test } from "bun:test";
import { useTenant } from "../../harness/fixture.ts";
import { afterTools, holdModel } from "../../harness/held-model.ts";
import { chunksOf, makeAgent, userMessage } from "../../harness/seed.ts";
import { type LiveEvent, open, play, script, sessionPath, textOf } from "../../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });

test("an answer whose log is beyond 16 MiB: who follows sees it live, who joins later gets the stored answer", async () => {
  await using held = holdModel(h.model, afterTools);
  const agentId = await makeAgent({ model: held }, t, { tools: ["memory"] });
  const { sessionId } = await play(t, agentId, null, { message: userMessage("first"), stream: false });
  const long = 'size=16000000 chunks=20000 delayMs=0 tool=memory_search args={"query":"x"}';
  const message = script(`${long}; text="The end."`);
  const headers = { authorization: `Bearer ${t.token}`, "content-type": "application/json" };
  const url = `http://parley.test${sessionPath(agentId, sessionId)}`;
  const response = await h.app(new Request(url, { method: "POST", headers, body: JSON.stringify({ message }) }));
  const live: string[] = [];
  let joined: Promise<LiveEvent[]> | null = null;
  const decoder = new TextDecoder();
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    const text = decoder.decode(piece, { stream: true });
    live.push(text);
    if (joined === null && text.includes("tool-output-available")) {
      const late = await open(h, t, "GET", sessionPath(agentId, sessionId, "/stream"));
      joined = late.rest();
      held.release();
    }
  }
  const [row] = await h.sql<{ content: { parts: { type: string; text?: string }[] } }[]>`
    select content from messages where session_id = ${sessionId} order by seq desc limit 1`;
  const said = (row?.content.parts ?? []).map(({ text }) => text ?? "").join("");
  expect(said.length).toBeGreaterThan(16_000_000);
  expect(textOf(chunksOf(live.join(""))) === said).toBe(true);
  const late = ((await joined) ?? []).flatMap(({ data }) => (data === "[DONE]" ? [] : [data]));
  expect(late.length).toBeLessThan(100);
  expect(textOf(late) === said).toBe(true);
}, 120_000);
