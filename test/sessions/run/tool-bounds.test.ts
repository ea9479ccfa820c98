import { describe, expect, test } from "bun:test";
import { toolCallsPerStepMax } from "../../../src/kernel/limits.ts";
import { useAgent } from "../../harness/fixture.ts";
import { makeAgent } from "../../harness/seed.ts";
import { messagesOf, play, script, sessionPath, textOf } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { tools: ["memory"] } });
const asking = await makeAgent(h, t, {
  tools: ["memory"],
  approvalInChat: { default: "manual", overrides: [] },
});

/** A script whose first step makes this many calls, and whose second one says something. */
const calling = (count: number) => script(`${'tool=memory_search args={"query":"x"} '.repeat(count)}; text="Went on."`);

/** How the calls of a stored answer ended. */
async function endsOf(agent: string, sessionId: string) {
  const messages = (await messagesOf(t, agent, sessionId)) as { parts: { state?: string; errorText?: string }[] }[];
  return messages.flatMap(({ parts }) => parts).filter(({ state }) => state?.startsWith("output-"));
}

describe("tool calls of one step", () => {
  test("128 are made", async () => {
    const played = await play(t, agentId, null, { message: calling(toolCallsPerStepMax) });
    expect(textOf(played.chunks)).toContain("Went on.");
    const ends = await endsOf(agentId, played.sessionId);
    expect(ends.map(({ state }) => state)).toEqual(Array(toolCallsPerStepMax).fill("output-available"));
  });

  test("each further one gets an error, which the reader and the model are told; the turn goes on", async () => {
    h.model.clear();
    const played = await play(t, agentId, null, { message: calling(toolCallsPerStepMax + 2) });
    expect(textOf(played.chunks)).toContain("Went on.");
    expect(played.chunks.filter(({ type }) => type === "tool-output-available")).toHaveLength(toolCallsPerStepMax);
    const refused = played.chunks.filter(({ type }) => type === "tool-output-error");
    expect(refused).toHaveLength(2);
    expect(refused[0]?.errorText).toContain("at most 128 tools");
    const ends = await endsOf(agentId, played.sessionId);
    expect(ends.filter(({ state }) => state === "output-error")).toHaveLength(2);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("at most 128 tools");
  });

  test("those that wait for a person count too", async () => {
    const played = await play(t, asking, null, { message: calling(toolCallsPerStepMax + 1) });
    const waiting = await t.call("GET", sessionPath(asking, played.sessionId, "/tool-approvals"));
    expect(waiting.body.approvals).toHaveLength(toolCallsPerStepMax);
    expect(played.chunks.filter(({ type }) => type === "tool-output-error")).toHaveLength(1);
    await t.call("POST", sessionPath(asking, played.sessionId, "/cancel"));
  });
});
