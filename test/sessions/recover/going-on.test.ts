import { describe, expect, test } from "bun:test";
import { CountingTool, countTool } from "../../harness/counting-tool.ts";
import { eventually } from "../../harness/harness.ts";
import {
  aftermathOf,
  type Client,
  type Installation,
  sharedRedisUrl,
  startInstallation,
  type Turn,
  textOf,
} from "../../harness/processes.ts";
import { StreamReader } from "../../harness/stream-reader.ts";
import { expectFree, expectOneSequence, expectWhole } from "../../harness/turn-checks.ts";

const lost = "The worker was lost while this ran; it may have happened.";
const testMs = 120_000;
const goneOn = { status: "succeeded", attempt: 2, metered: 1, messages: 2 };

/** A step that calls the tool with a text. */
const calls = (text: string) => `text="before ${text}. " tool=${countTool} args={"text":"${text}"}`;

interface Scene {
  readonly installation: Installation;
  readonly c: Client;
  readonly tool: CountingTool;
}

describe.skipIf(sharedRedisUrl === null)("a turn past its first step, whose worker is killed", () => {
  test.concurrent(
    "in a text: goes on in the same sequence, for all who follow",
    () =>
      onScene(async ({ installation, c, tool }) => {
        const doomed = await installation.work();
        const turn = await c.turn(`text [[sim: ${calls("one")} ; text="the whole end of it" chunks=40 delayMs=100 ]]`);
        const beside = await c.join(turn.sessionId);
        await eventually(() => textOf(turn.stream.chunks).includes("the"));
        const early = await joinAfter(c, turn, 5);
        await doomed.kill();
        const between = await c.join(turn.sessionId);
        await installation.work();
        await eventually(async () => (await attemptOf(installation, turn)) === 2);
        const late = await c.join(turn.sessionId);
        const resumed = await joinAfter(c, turn, turn.stream.ids.length - 1);
        await allClosed([turn, beside, between, late, early, resumed]);
        expectWhole(turn);
        expect(textOf(turn.stream.chunks)).toEndWith("the whole end of it");
        expect(textOf(turn.stream.chunks).match(/before one/g)).toHaveLength(1);
        expectSame(turn, [beside, between, late, early, resumed]);
        expect([...tool.counts]).toEqual([["one", 1]]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(goneOn);
        await expectStored(c, turn);
        await expectNoCheckpoint(installation, turn);
        await expectFree(c, turn.sessionId);
      }),
    testMs,
  );

  test.concurrent(
    "in a tool: its call has the error as its end, and is not made again",
    () =>
      onScene(async ({ installation, c, tool }) => {
        const doomed = await installation.work();
        tool.hold("two");
        const turn = await c.turn(`tool [[sim: ${calls("one")} ; ${calls("two")} ; text="the end" ]]`);
        await eventually(() => tool.counts.get("two") === 1);
        await doomed.kill();
        await installation.work();
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([lost]);
        expect(textOf(turn.stream.chunks)).toBe("before one. before two. the end");
        expect([...tool.counts]).toEqual([
          ["one", 1],
          ["two", 1],
        ]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(goneOn);
        await expectStored(c, turn);
        // The model was told.
        expect(JSON.stringify(installation.model.requests().at(-1)?.body)).toContain(lost);
      }),
    testMs,
  );

  test.concurrent(
    "again and again, in each step: the bound of runs holds for each step anew",
    () =>
      onScene(async ({ installation, c, tool }) => {
        for (const text of ["two", "three", "four"]) tool.hold(text);
        const steps = ["one", "two", "three", "four"].map(calls).join(" ; ");
        let worker = await installation.work();
        const turn = await c.turn(`again [[sim: ${steps} ; text="the end" ]]`);
        for (const text of ["two", "three", "four"]) {
          await eventually(() => tool.counts.get(text) === 1, 30_000);
          await worker.kill();
          worker = await installation.work();
        }
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([lost, lost, lost]);
        expect([...tool.counts.values()]).toEqual([1, 1, 1, 1]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual({ ...goneOn, attempt: 4 });
        await expectStored(c, turn);
      }),
    testMs,
  );

  test.concurrent(
    "twice in the same step: fails, and what it said and did is kept",
    () =>
      onScene(async ({ installation, c, tool }) => {
        const first = await installation.work();
        const turn = await c.turn(`poison [[sim: ${calls("one")} ; text="a bit of it" hangAfterChunks=1 ]]`);
        await eventually(() => installation.model.requests().length === 2);
        await first.kill();
        const second = await installation.work();
        await eventually(() => installation.model.requests().length === 3, 30_000);
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

/** Plays a scene on an installation with one HTTP process and an agent with the counting tool. */
async function onScene(play: (scene: Scene) => Promise<void>): Promise<void> {
  await using installation = await startInstallation();
  await using tool = new CountingTool();
  const c = await installation.client((await installation.serve()).url);
  await tool.offer(c);
  await play({ installation, c, tool });
}

/** Joins as a client does that has seen the events up to a number. */
async function joinAfter(c: Client, { turnId, sessionId }: Turn, event: number): Promise<Turn & { after: number }> {
  const path = `/v1/agents/${c.agentId}/sessions/${sessionId}/stream`;
  const response = await c.request("GET", path, undefined, { "Last-Event-ID": `${turnId}:${event}` });
  return { turnId, sessionId, stream: new StreamReader(response), after: event };
}

function allClosed(turns: readonly Turn[]): Promise<unknown> {
  return Promise.all(turns.map(({ stream }) => stream.closed));
}

/** All have seen what the first one has, from where they came. */
function expectSame(turn: Turn, others: readonly (Turn & { readonly after?: number })[]): void {
  for (const { stream, after = -1 } of others) {
    expect(stream.finished).toBe(true);
    expect(stream.ids).toEqual(turn.stream.ids.slice(after + 1));
    expect(stream.chunks).toEqual(turn.stream.chunks.slice(after + 1));
  }
}

function outputErrors({ stream }: Turn): unknown[] {
  return stream.chunks.flatMap((chunk) => (chunk.type === "tool-output-error" ? [chunk.errorText] : []));
}

async function attemptOf({ sql }: Installation, { turnId }: Turn): Promise<number | undefined> {
  const [row] = await sql<{ attempt: number }[]>`select attempt from turns where id = ${turnId} and status = 'running'`;
  return row?.attempt;
}

async function messagesOf(c: Client, { sessionId }: Turn): Promise<unknown[]> {
  const response = await c.request("GET", `/v1/agents/${c.agentId}/sessions/${sessionId}/messages`);
  return ((await response.json()) as { data: unknown[] }).data;
}

/** The stored answer has the texts and calls that the stream had. */
async function expectStored(c: Client, turn: Turn): Promise<void> {
  const [, answer] = (await messagesOf(c, turn)) as { parts: { type: string; state?: string; text?: string }[] }[];
  const parts = answer?.parts ?? [];
  expect(parts.flatMap(({ type, text = "" }) => (type === "text" ? [text] : [])).join("")).toBe(
    textOf(turn.stream.chunks),
  );
  const starts = turn.stream.types.filter((type) => type === "start-step").length;
  expect(parts.filter(({ type }) => type === "step-start")).toHaveLength(starts);
  expect(turn.stream.types.filter((type) => type === "finish-step")).toHaveLength(starts);
  expect(parts.every(({ state = "done" }) => /^(done|output-available|output-error)$/.test(state))).toBe(true);
}

async function expectNoCheckpoint({ sql }: Installation, { turnId }: Turn): Promise<void> {
  expect(await sql`select 1 from turn_checkpoints where turn_id = ${turnId}`).toHaveLength(0);
}
