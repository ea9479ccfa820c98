import { describe, expect, test } from "bun:test";
import { eventually } from "../../harness/harness.ts";
import { afterTools, holdModel } from "../../harness/held-model.ts";
import { processWaitMs, sharedRedisUrl, startInstallation } from "../../harness/processes.ts";

const locate = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" } };

describe.skipIf(sharedRedisUrl === null)(
  "a turn that waited for its caller, whose worker is killed as it goes on",
  () => {
    test("goes on with the result, and frees its session", async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model, afterTools);
      const c = await installation.client((await installation.serve()).url, model.url);
      await c.request("PUT", `/v1/agents/${c.agentId}`, { clientTools: [locate] });
      const doomed = await installation.work();
      const end = "the whole end of it, and of all that is said";
      const turn = await c.turn(`[[sim: tool=locate args={} ; text="${end}" chunks=44 delayMs=100 ]]`);
      await turn.stream.closed;
      const path = `/v1/agents/${c.agentId}/sessions/${turn.sessionId}`;
      const { toolCalls } = await (await c.request("GET", `${path}/tool-calls`)).json();
      const settled = await c.request("POST", `${path}/tool-calls/${toolCalls[0].toolCallId}`, { output: "Lisbon" });
      expect(settled.status).toBe(202);
      const going = await c.join(turn.sessionId);
      model.release();
      await eventually(() => going.stream.chunks.some(({ type }) => type === "text-delta"), processWaitMs);
      await doomed.kill();
      await installation.work();
      await going.stream.closed;
      await eventually(async () => {
        const [row] = await installation.sql`select status from turns where id = ${turn.turnId}`;
        return row?.status === "succeeded";
      }, processWaitMs);
      expect(going.stream.types.at(-1)).toBe("finish");
      const { data } = await (await c.request("GET", `${path}/messages`)).json();
      expect(data[1].parts[1]).toMatchObject({ state: "output-available", output: "Lisbon" });
      expect(data[1].parts.at(-1)).toMatchObject({ type: "text", text: end });
      const late = await c.request("POST", `${path}/tool-calls/${toolCalls[0].toolCallId}`, { output: "twice" });
      expect(late.status).toBe(409);
      expect((await c.json('[[sim: text="free again"]]', turn.sessionId)).status).toBe(200);
    }, 120_000);
  },
);
