import { describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import postgres from "postgres";
import { lookTool } from "../../harness/counting-tool.ts";
import { eventually } from "../../harness/harness.ts";
import { aftermathOf, processWaitMs, sharedRedisUrl, textOf } from "../../harness/processes.ts";
import {
  allClosed,
  countStep,
  expectNoCheckpoint,
  expectStored,
  goneOn,
  lostCall,
  messagesOf,
  onStepsScene,
  outputErrors,
} from "../../harness/steps-scene.ts";
import { expectFree, expectWhole } from "../../harness/turn-checks.ts";

const testMs = 240_000;

describe.skipIf(sharedRedisUrl === null)("a turn past its first step", () => {
  test.concurrent(
    "whose worker drains: the step under way is finished, and another worker goes on",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        tool.hold("two");
        const worker = await installation.work();
        const turn = await c.turn(`drained [[sim: ${countStep("one")} ; ${countStep("two")} ; text="the end" ]]`);
        await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        worker.signal("SIGTERM");
        await eventually(() => worker.log.some(({ msg }) => msg?.startsWith("draining")), processWaitMs);
        tool.release("two");
        expect(await worker.exited).toEqual({ code: 0, signal: null });
        expect(turn.stream.types).not.toContain("finish");
        await installation.work();
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([]);
        expect([...tool.counts.values()]).toEqual([1, 1]);
        expect(textOf(turn.stream.chunks)).toBe("before one. before two. the end");
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(goneOn);
        await expectStored(c, turn);
      }),
    testMs,
  );

  test.concurrent(
    "whose worker drains and whose step does not end in time: goes on as after a kill",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        tool.hold("two");
        const worker = await installation.work({ DRAIN_SECONDS: "1" });
        const turn = await c.turn(`cut [[sim: ${countStep("one")} ; ${countStep("two")} ; text="the end" ]]`);
        await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        worker.signal("SIGTERM");
        expect(await worker.exited).toEqual({ code: 0, signal: null });
        await installation.work();
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([lostCall]);
        expect([...tool.counts.values()]).toEqual([1, 1]);
        await expectStored(c, turn);
      }),
    testMs,
  );

  test.concurrent(
    "whose worker is killed while it commits a checkpoint: no call is made twice, wherever it goes on",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        tool.hold("two");
        const doomed = await installation.work();
        const turn = await c.turn(`committing [[sim: ${countStep("one")} ; ${countStep("two")} ; text="the end" ]]`);
        await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        const released = Promise.withResolvers<void>();
        const holder = postgres(installation.databaseUrl, { max: 1 });
        const held = holder.begin(async (lock) => {
          await lock`select 1 from turns where id = ${turn.turnId} for update`;
          tool.release("two");
          await eventually(
            () => turn.stream.types.filter((type) => type === "finish-step").length === 2,
            processWaitMs,
          );
          await eventually(async () => {
            const waiting = await installation.sql`
              select 1 from pg_stat_activity
              where application_name = 'parley-worker' and wait_event_type = 'Lock' and datname = current_database()`;
            return waiting.length > 0;
          }, processWaitMs);
          await doomed.kill();
          await released.promise;
        });
        await eventually(() => doomed.exited, processWaitMs);
        await installation.work();
        released.resolve();
        await held;
        await holder.end();
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([]);
        expect([...tool.counts.values()]).toEqual([1, 1]);
        await expectStored(c, turn);
      }),
    testMs,
  );

  test.concurrent(
    "in a continuation: goes on with its log, and no approved call is made twice",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        tool.hold("two");
        const doomed = await installation.work();
        const text = `look [[sim: tool=${lookTool} args={"text":"one"} ; ${countStep("two")} ; text="the end" ]]`;
        const asking = await c.turn(text);
        await allClosed([asking]);
        expect(asking.stream.types).toContain("tool-approval-request");
        const path = `/v1/agents/${c.agentId}/sessions/${asking.sessionId}`;
        const { approvals } = (await (await c.request("GET", `${path}/tool-approvals`)).json()) as {
          approvals: { id: string }[];
        };
        const decided = await c.request("POST", `${path}/tool-approvals/${approvals[0]?.id}`, { approved: true });
        expect(decided.status).toBe(202);
        await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        await doomed.kill();
        const joined = await c.join(asking.sessionId);
        await installation.work();
        await allClosed([joined]);
        expect(joined.stream.types.at(-1)).toBe("finish");
        expect(outputErrors(joined)).toContain(lostCall);
        expect([...tool.counts.values()]).toEqual([1, 1]);
        const [, answer] = await messagesOf(c, asking);
        expect(JSON.stringify(answer)).toContain("the end");
        expect(JSON.stringify(answer)).toContain(lostCall);
        expect((await aftermathOf(installation.sql, asking.turnId)).status).toBe("succeeded");
        await expectNoCheckpoint(installation, asking);
        await expectFree(c, asking.sessionId);
      }, "auto"),
    testMs,
  );

  test.concurrent.each([
    ["in a text: goes on with a new log", "text"],
    ["in a tool: fails, and what it said and did is kept", "tool"],
  ])(
    "whose log is lost with its worker, %s",
    (_what, where) =>
      onStepsScene(async ({ installation, c, tool }) => {
        tool.hold("two");
        const doomed = await installation.work();
        const rest =
          where === "tool"
            ? `${countStep("two")} ; text="the end"`
            : 'text="the end of it, and of all that is said" chunks=39 delayMs=100';
        const turn = await c.turn(`gone [[sim: ${countStep("one")} ; ${rest} ]]`);
        if (where === "tool") await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        else await eventually(() => textOf(turn.stream.chunks).includes("the"), processWaitMs);
        await doomed.kill();
        const redis = new Redis(sharedRedisUrl ?? "");
        await redis.del(`parley:{${turn.turnId}}:1`);
        redis.disconnect();
        await installation.work();
        await allClosed([turn]);
        expect(turn.stream.types.at(-1)).toBe("error");
        // Its reader, whose log is gone, is told so before the turn has ended.
        await eventually(async () => (await aftermathOf(installation.sql, turn.turnId)).messages === 2, testMs / 2);
        const after = await aftermathOf(installation.sql, turn.turnId);
        expect(after.status).toBe(where === "tool" ? "failed" : "succeeded");
        expect([...tool.counts.values()]).toEqual(where === "tool" ? [1, 1] : [1]);
        const [, answer] = await messagesOf(c, turn);
        expect(JSON.stringify(answer)).toContain("counted one");
        if (where === "text") expect(JSON.stringify(answer)).toContain("the end of it, and of all that is said");
        await expectNoCheckpoint(installation, turn);
        await expectFree(c, turn.sessionId);
      }),
    testMs,
  );
});
