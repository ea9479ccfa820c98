import { describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import { countTool, lookTool } from "../../harness/counting-tool.ts";
import { eventually } from "../../harness/harness.ts";
import { aftermathOf, type Client, sharedRedisUrl, type Turn, textOf } from "../../harness/processes.ts";
import { allClosed, comeBack, countStep, messagesOf, onStepsScene, runningAttempt } from "../../harness/steps-scene.ts";
import type { StreamReader } from "../../harness/stream-reader.ts";
import { expectFree, expectOneSequence } from "../../harness/turn-checks.ts";

const testMs = 120_000;

/** The text of the first step comes in many deltas, and is stored as one. */
const firstStep = countStep("one").replace('before one. "', 'a b c d e f. " chunks=6');

/** A step that hangs in its text, for each worker anew. */
const hangs = 'text="u v w x y z" hangAfterChunks=4';

async function dropLog(logId: string, attempt: number): Promise<void> {
  const redis = new Redis(sharedRedisUrl ?? "");
  expect(await redis.del(`parley:{${logId}}:${attempt}`)).toBe(1);
  redis.disconnect();
}

/** No event of one stream is another event of the other. */
function expectAgreement(streams: readonly StreamReader[]): void {
  const known = new Map<string, unknown>();
  for (const { ids, chunks } of streams)
    for (const [index, id] of ids.entries()) {
      const before = known.get(id) ?? chunks[index];
      expect([id, chunks[index]]).toEqual([id, before] as never);
      known.set(id, before);
    }
}

/** What the ids of a stream say: who comes back with one gets this. */
type Expected = (index: number) => readonly string[];

/** Comes back with each of these ids, and expects the ids of what it gets. */
async function expectAfterEach(c: Client, turn: Turn, ids: readonly string[], expected: Expected): Promise<void> {
  const joined = await Promise.all(ids.map((id) => comeBack(c, turn, id)));
  await allClosed(joined);
  for (const [index, { stream }] of joined.entries()) {
    expect([ids[index], stream.ids]).toEqual([ids[index], expected(index)] as never);
    expect(stream.finished).toBe(true);
  }
}

async function storedTextOf(c: Client, turn: Turn): Promise<string> {
  const [, answer] = (await messagesOf(c, turn)) as { parts: { type: string; text?: string }[] }[];
  return answer?.parts.flatMap(({ type, text = "" }) => (type === "text" ? [text] : [])).join("") ?? "";
}

describe.skipIf(sharedRedisUrl === null)(
  "a turn whose log was lost with its worker, and that goes on with a new one",
  () => {
    test(
      "is given whole to a reader that comes back with an id of the lost log, while it runs and later",
      () =>
        onStepsScene(async ({ installation, c }) => {
          const first = await installation.work();
          const turn = await c.turn(`new log [[sim: ${firstStep} ; ${hangs} ]]`);
          await eventually(() => textOf(turn.stream.chunks).trimEnd().endsWith("u v w x"));
          const old = [...turn.stream.ids];
          await turn.stream.leave();
          await first.kill();
          await dropLog(turn.turnId, 1);
          const between = await comeBack(c, turn, old.at(-1));
          const second = await installation.work({ DRAIN_SECONDS: "1" });
          await eventually(async () => (await runningAttempt(installation, turn)) === 2);
          const joined = await c.join(turn.sessionId);
          await eventually(() => textOf(joined.stream.chunks).trimEnd().endsWith("u v w x"));
          const readers = await Promise.all(old.map((id) => comeBack(c, turn, id)));
          const resumed = await comeBack(c, turn, joined.stream.ids.at(-3));
          const seen = joined.stream.ids.length;
          // The next worker goes on with the same log.
          second.signal("SIGTERM");
          expect(await second.exited).toEqual({ code: 0, signal: null });
          await installation.work();
          await eventually(async () => (await runningAttempt(installation, turn)) === 3);
          await eventually(
            () => joined.stream.ids.length > seen && textOf(joined.stream.chunks).match(/u v w x/g)?.length === 2,
          );
          const path = `/v1/agents/${c.agentId}/sessions/${turn.sessionId}`;
          expect((await c.request("POST", `${path}/cancel`, { keep: "partial" })).status).toBe(202);
          await allClosed([joined, between, resumed, ...readers]);
          expectOneSequence(joined);
          const { ids } = joined.stream;
          expect(textOf(joined.stream.chunks)).toBe(await storedTextOf(c, turn));
          // The first event of all is not of a log.
          for (const [index, { stream }] of [between, ...readers].entries())
            expect([old[index - 1], stream.ids]).toEqual([old[index - 1], index === 1 ? ids.slice(1) : ids] as never);
          expect(resumed.stream.ids).toEqual(ids.slice(seen - 2));
          expectAgreement([turn, joined, between, resumed, ...readers].map(({ stream }) => stream));
          // While the new log is kept, and from what is stored.
          await expectAfterEach(c, turn, old, (index) => (index === 0 ? ids.slice(1) : ids));
          await expectAfterEach(c, turn, ids, (index) => ids.slice(index + 1));
          await dropLog(turn.turnId, 2);
          const stored = await comeBack(c, turn, old[1]);
          await allClosed([stored]);
          expect(textOf(stored.stream.chunks)).toBe(await storedTextOf(c, turn));
          expectOneSequence(stored);
          await expectAfterEach(c, turn, old.slice(1), () => stored.stream.ids);
          await expectAfterEach(c, turn, ids.slice(-2), (index) => ids.slice(ids.length - 1 + index));
          expectAgreement([turn, joined, stored].map(({ stream }) => stream));
          await expectFree(c, turn.sessionId);
        }),
      testMs,
    );

    test(
      "in a continuation is given whole, with the message before it, or alone, as its reader had it",
      () =>
        onStepsScene(async ({ installation, c }) => {
          const first = await installation.work();
          const steps = `text="may I? " tool=${countTool} args={"text":"one"} ; text="a b c d e f. " chunks=6 tool=${lookTool} args={"text":"two"}`;
          const asking = await c.turn(`asks [[sim: ${steps} ; ${hangs} ]]`);
          await allClosed([asking]);
          const path = `/v1/agents/${c.agentId}/sessions/${asking.sessionId}`;
          const listed = await c.request("GET", `${path}/tool-approvals`);
          const { approvals } = (await listed.json()) as { approvals: { id: string }[] };
          const decided = await c.request("POST", `${path}/tool-approvals/${approvals[0]?.id}`, { approved: true });
          const { continuation } = (await decided.json()) as { continuation: { id: string } };
          const alone = `${path}/tool-approval-continuations/${continuation.id}`;
          const joins = [`${path}/stream`, alone] as const;
          const hasHung = ({ stream }: Turn, times = 1) =>
            textOf(stream.chunks).match(/u v w x/g)?.length === times && textOf(stream.chunks).includes("f. ");
          const lost = await Promise.all(joins.map((join) => comeBack(c, asking, "", join)));
          await eventually(() => lost.every((one) => hasHung(one)));
          const old = lost.map(({ stream }) => [...stream.ids]);
          await Promise.all(lost.map(({ stream }) => stream.leave()));
          await first.kill();
          const attempt = (await runningAttempt(installation, asking)) ?? 0;
          await dropLog(continuation.id, attempt);
          await installation.work();
          await eventually(async () => (await runningAttempt(installation, asking)) === attempt + 1);
          const anew = await Promise.all(joins.map((join) => comeBack(c, asking, "", join)));
          await eventually(() => anew.every((one) => hasHung(one)));
          const back = await Promise.all(joins.map((join, place) => comeBack(c, asking, old[place]?.at(-1), join)));
          await eventually(() => back.every((one) => hasHung(one)));
          const on = await Promise.all(
            joins.map((join, place) => comeBack(c, asking, anew[place]?.stream.ids.at(-3), join)),
          );
          await c.request("POST", `${path}/cancel`, { keep: "partial" });
          await allClosed([...anew, ...back, ...on]);
          for (const [place, { stream }] of anew.entries()) {
            expectOneSequence({ stream });
            expect(back[place]?.stream.ids).toEqual(stream.ids);
            expect(on[place]?.stream.ids).toEqual(stream.ids.slice(stream.ids.indexOf(on[place]?.stream.ids[0] ?? "")));
            expect(on[place]?.stream.ids.length).toBeGreaterThan(2);
          }
          expectAgreement([...lost, ...anew, ...back, ...on].map(({ stream }) => stream));
          const [whole] = anew;
          expect(textOf(whole?.stream.chunks ?? [])).toBe(await storedTextOf(c, asking));
          const isBefore = (eventId: string) => !/\.\d+\+/.test(eventId);
          const before = whole?.stream.ids.filter(isBefore).length ?? 0;
          expect(before).toBeGreaterThan(2);
          // What stands before the continuation's own events is no part of the log that was lost.
          await expectAfterEach(c, asking, old[0] ?? [], (index) =>
            (whole?.stream.ids ?? []).slice(index < before ? index + 1 : 0),
          );
          await expectAfterEach(
            c,
            asking,
            whole?.stream.ids ?? [],
            (index) => whole?.stream.ids.slice(index + 1) ?? [],
          );
        }, "auto"),
      testMs,
    );

    test(
      "and that fails, because a tool may have run, tells the same to all who come back",
      () =>
        onStepsScene(async ({ installation, c, tool }) => {
          tool.hold("two");
          const doomed = await installation.work();
          const turn = await c.turn(`failed [[sim: ${firstStep} ; ${countStep("two")} ; text="the end" ]]`);
          await eventually(() => tool.counts.get("two") === 1);
          const old = [...turn.stream.ids];
          await turn.stream.leave();
          await doomed.kill();
          await dropLog(turn.turnId, 1);
          await installation.work();
          await eventually(async () => (await aftermathOf(installation.sql, turn.turnId)).status === "failed");
          const whole = await comeBack(c, turn, old.at(-1));
          await allClosed([whole]);
          expectOneSequence(whole);
          expect(whole.stream.types.at(-1)).toBe("error");
          expect(textOf(whole.stream.chunks)).toBe(await storedTextOf(c, turn));
          await expectAfterEach(c, turn, old.slice(1), () => whole.stream.ids);
          expectAgreement([turn, whole].map(({ stream }) => stream));
        }),
      testMs,
    );
  },
);
