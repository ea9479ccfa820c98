import { afterAll, describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { play, textOf } from "../harness/turns.ts";
import { type Silence, startSilent } from "../servers/silent.ts";

const { h, t } = await useTenant({ worker: true, env: { MODEL_IDLE_SECONDS: "2" } });
const silences: readonly Silence[] = ["at once", "after the headers", "in its answer", "in an error"];
const server = await startSilent(
  (body) => {
    if (body.includes("Summarise the conversation")) return "at once";
    return [...silences, "comments" as const].find((silence) => body.includes(`(${silence})`)) ?? null;
  },
  { commentsMs: 5_000 },
);
afterAll(() => server.stop());
const provider = await makeProvider(h, t, { baseUrl: server.url });
// An unknown model has a window of 128,000 tokens; this reserve leaves 300 for the prompt.
const agentId = await makeAgent(h, t, { providerId: provider.id, compactionReserveTokens: 127_700 });

describe("a model that sends nothing for MODEL_IDLE_SECONDS", () => {
  test.each(silences)("provider_error: %s; the turn fails, and the connection is closed", async (silence) => {
    const { chunks, turnId } = await play(t, agentId, null, { message: userMessage(`(${silence})`) });
    expect(chunks.at(-1)).toEqual({ type: "error", errorText: "The model provider sent nothing for 2 s." });
    await eventually(() => server.open.size === 0);
    const [turn] = await h.sql`select error ->> 'code' as code from turns where id = ${turnId}`;
    expect(turn?.code).toBe("provider_error");
  });

  test("502 provider_error: with stream: false", async () => {
    const played = await play(t, agentId, null, { message: userMessage("(at once)"), stream: false });
    expect([played.status, played.body.error.code]).toEqual([502, "provider_error"]);
  });

  test("comments of a stream are signs of life", async () => {
    expect(textOf((await play(t, agentId, null, { message: userMessage("(comments)") })).chunks)).toBe("Fine.");
  });

  test("in a compaction: the summary is given up, and the turn goes on", async () => {
    const long = (name: string) => ({ message: userMessage(`${name} ${"lorem ".repeat(150)}`) });
    const { sessionId } = await play(t, agentId, null, long("alpha"));
    expect(textOf((await play(t, agentId, sessionId, long("beta"))).chunks)).toBe("Fine.");
    await eventually(() => server.open.size === 0);
  });
});
