import { describe, expect, test } from "bun:test";
import { assembled } from "../../harness/assembled.ts";
import { largePicture } from "../../harness/counting-tool.ts";
import { eventually } from "../../harness/harness.ts";
import { aftermathOf, processWaitMs, sharedRedisUrl, textOf } from "../../harness/processes.ts";
import {
  allClosed,
  countStep,
  expectNoCheckpoint,
  expectSame,
  expectStored,
  goneOn,
  joinAfter,
  lostCall,
  messagesOf,
  onStepsScene,
  outputErrors,
  runningAttempt,
  type StepsScene,
} from "../../harness/steps-scene.ts";
import { expectFree, expectOneSequence, expectWhole } from "../../harness/turn-checks.ts";

const testMs = 240_000;

describe.skipIf(sharedRedisUrl === null)("a turn past its first step, whose worker is killed", () => {
  test.concurrent(
    "in a text: goes on in the same sequence, for all who follow",
    () => {
      let isKilled = false;
      const play = async ({ installation, c, tool, model }: StepsScene) => {
        const doomed = await installation.work();
        const end = "the whole end of it, and of all that is to be said";
        const turn = await c.turn(`text [[sim: ${countStep("one")} ; text="${end}" chunks=50 delayMs=100 ]]`);
        const beside = await c.join(turn.sessionId);
        await eventually(() => textOf(turn.stream.chunks).includes("the"), processWaitMs);
        const early = await joinAfter(c, turn, 5);
        await doomed.kill();
        isKilled = true;
        const between = await c.join(turn.sessionId);
        await installation.work();
        await eventually(async () => (await runningAttempt(installation, turn)) === 2, processWaitMs);
        const late = await c.join(turn.sessionId);
        const resumed = await joinAfter(c, turn, turn.stream.ids.length - 1);
        model.release();
        await allClosed([turn, beside, between, late, early, resumed]);
        expectWhole(turn);
        expect(textOf(turn.stream.chunks)).toEndWith(end);
        expect(textOf(turn.stream.chunks).match(/before one/g)).toHaveLength(1);
        expectSame(turn, [beside, between, late, early, resumed]);
        expect([...tool.counts]).toEqual([["one", 1]]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(goneOn);
        await expectStored(c, turn);
        await expectNoCheckpoint(installation, turn);
        await expectFree(c, turn.sessionId);
      };
      return onStepsScene(play, "full", () => isKilled);
    },
    testMs,
  );

  test.concurrent(
    "in a tool: its call has the error as its end, and is not made again",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        const doomed = await installation.work();
        tool.hold("two");
        const turn = await c.turn(`tool [[sim: ${countStep("one")} ; ${countStep("two")} ; text="the end" ]]`);
        await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        await doomed.kill();
        await installation.work();
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([lostCall]);
        expect(textOf(turn.stream.chunks)).toBe("before one. before two. the end");
        expect([...tool.counts]).toEqual([
          ["one", 1],
          ["two", 1],
        ]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(goneOn);
        await expectStored(c, turn);
        // The model was told.
        expect(JSON.stringify(installation.model.requests().at(-1)?.body)).toContain(lostCall);
      }),
    testMs,
  );

  test.concurrent(
    "in a tool that has shown its progress, after one that returned a picture: the picture is kept, the progress is not",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        tool.isRich = true;
        const doomed = await installation.work();
        tool.hold("two");
        const turn = await c.turn(`rich [[sim: ${countStep("one")} ; ${countStep("two")} ; text="the end" ]]`);
        const progress = () => turn.stream.types.filter((type) => type === "data-tool-progress").length;
        await eventually(() => tool.counts.get("two") === 1 && progress() === 2, processWaitMs);
        await doomed.kill();
        const between = await c.join(turn.sessionId);
        await installation.work();
        await allClosed([turn, between]);
        expectWhole(turn);
        expectSame(turn, [between]);
        expect([outputErrors(turn), progress()]).toEqual([[lostCall], 2]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(goneOn);
        await expectStored(c, turn);
        const [, answer] = (await messagesOf(c, turn)) as { parts: { type: string; url?: string }[] }[];
        const beside = answer?.parts.filter(({ type }) => type === "file" || type.startsWith("data-"));
        expect(beside?.map(({ type, url }) => [type, url === `data:image/png;base64,${largePicture}`])).toEqual([
          ["file", true],
        ]);
        expect<unknown>(await assembled(turn.stream.chunks)).toEqual(answer);
      }),
    testMs,
  );

  test.concurrent(
    "again and again, in each step: the bound of runs holds for each step anew",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        for (const text of ["two", "three", "four"]) tool.hold(text);
        const steps = ["one", "two", "three", "four"].map(countStep).join(" ; ");
        let worker = await installation.work();
        const turn = await c.turn(`again [[sim: ${steps} ; text="the end" ]]`);
        for (const text of ["two", "three", "four"]) {
          await eventually(() => tool.counts.get(text) === 1, processWaitMs);
          await worker.kill();
          worker = await installation.work();
        }
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([lostCall, lostCall, lostCall]);
        expect([...tool.counts.values()]).toEqual([1, 1, 1, 1]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual({ ...goneOn, attempt: 4 });
        await expectStored(c, turn);
      }),
    testMs,
  );

  test.concurrent(
    "twice in the same step: fails, and what it said and did is kept",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        const first = await installation.work();
        const turn = await c.turn(`poison [[sim: ${countStep("one")} ; text="a bit of it" hangAfterChunks=1 ]]`);
        await eventually(() => installation.model.requests().length === 2, processWaitMs);
        await first.kill();
        const second = await installation.work();
        await eventually(() => installation.model.requests().length === 3, processWaitMs);
        await second.kill();
        await installation.work();
        await allClosed([turn]);
        expect(turn.stream.types.at(-1)).toBe("error");
        expectOneSequence(turn);
        expect([...tool.counts]).toEqual([["one", 1]]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual({ ...goneOn, status: "failed" });
        const [, answer] = await messagesOf(c, turn);
        expect(JSON.stringify(answer)).toContain("counted one");
        await expectNoCheckpoint(installation, turn);
        await expectFree(c, turn.sessionId);
      }),
    testMs,
  );
});
