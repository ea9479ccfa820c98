import { describe, expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { Parley } from "parley/client";
import { newId } from "../../../src/kernel/ids.ts";
import { eventually } from "../../harness/eventually.ts";
import { sharedRedisUrl } from "../../harness/processes.ts";
import { makeAgent } from "../../harness/seed.ts";
import { StreamReader } from "../../harness/stream-reader.ts";
import { type Bench, openBench } from "./bench.ts";
import { promised } from "./promised.ts";
import { outcomeOf, Traffic } from "./traffic.ts";

/** So many milliseconds later come the answers of both stores. */
const delays = [0, 1, 5, 20];
const rounds = 8;
/** How many round trips each may take, beside what it costs where there are none. */
const most: Readonly<Record<keyof Times, number>> = {
  plainFirst: 3,
  plainWhole: 4,
  keyedFirst: 4,
  keyedWhole: 5,
  toolStep: 6,
  cancel: 4,
};
/** What is measured is no whole number of round trips: timers are late, and the machine is busy. */
const roundTripsLeeway = 0.5;
const shownMs = 60_000;

describe.skipIf(sharedRedisUrl === null)("times", () => {
  promised(
    {
      name: "round-trips",
      fault: "a round trip to the stores takes d",
      promise:
        "plain turn: first text + 3 d, whole + 4 d; with `Idempotency-Key` one d more; cancel 4 d; a step with a built-in tool 6 d",
    },
    async ({ tell }) => {
      const measured: { delayMs: number; roundTripMs: number; least: Times; middle: Times }[] = [];
      for (const delayMs of delays) {
        await using bench = await openBench({ serve: 1, work: 1, delayMs });
        const roundTripMs = await pingMs(bench);
        const all = await measure(bench);
        measured.push({ delayMs, roundTripMs, least: each(all, (some) => some[0]), middle: each(all, middleOf) });
        process.stderr.write(`  ${JSON.stringify(measured.at(-1))}\n`);
      }
      const [near, far] = [measured[0], measured.at(-1)] as [(typeof measured)[0], (typeof measured)[0]];
      const trips = Object.fromEntries(
        names.map((name) => [name, (far.least[name] - near.least[name]) / (far.roundTripMs - near.roundTripMs)]),
      ) as unknown as Times;
      const list = (name: keyof Times) => measured.map(({ middle }) => middle[name].toFixed(0)).join(", ");
      tell(
        names.map((name) => `${name} ${trips[name].toFixed(1)} d`).join(", "),
        `at ${delays.join(", ")} ms: ${names.map((name) => `${name} ${list(name)}`).join("; ")} ms`,
      );
      for (const name of names) expect(trips[name], name).toBeLessThan(most[name] + roundTripsLeeway);
    },
  );

  promised(
    {
      name: "clocks",
      fault: "clocks are two minutes apart",
      promise: "schedules and leases go by Postgres' clock",
    },
    async ({ tell }) => {
      const ahead = shifted("+120s");
      await using bench = await openBench({
        serve: 2,
        work: 2,
        envOf: { "serve-1": ahead, "work-1": ahead, "work-2": shifted("-120s") },
      });
      const told = (await bench.c.request("GET", "/healthz")).headers.get("date");
      const traffic = new Traffic([bench.c], { clients: 8, words: 10, everyMs: 50 });
      const dueAt = Date.now() + 8_000;
      const once = await makeTask(bench, { kind: "once", config: { at: new Date(dueAt).toISOString() } });
      const interval = await makeTask(bench, { kind: "interval", config: { everyMs: 60_000 } });
      const [planned] = await bench.installation.sql<{ seconds: number }[]>`
        select extract(epoch from next_fire_at - now())::float as seconds from tasks where id = ${interval}`;
      const run = await eventually(async () => {
        const [row] = await bench.installation.sql<{ createdAt: Date }[]>`
          select created_at from task_runs where task_id = ${once}`;
        return row;
      }, 60_000);
      const lateMs = run.createdAt.getTime() - dueAt;
      const outcome = await outcomeOf(bench.installation, await traffic.stop());
      tell(
        `a task due in 8 s began ${(lateMs / 1000).toFixed(1)} s after its time`,
        `one of every 60 s is planned in ${planned?.seconds.toFixed(0)} s; ${outcome.whole} of ${outcome.turns} turns whole (the process that was asked says it is ${told})`,
      );
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(30_000);
      expect(planned?.seconds).toBeWithin(50, 61);
      expect(outcome).toMatchObject({ errors: 0, broken: 0, refused: 0, faults: [], twice: [] });
    },
    { skipped: library === null ? "needs libfaketime" : null },
  );
});

/** Milliseconds that requests took. */
interface Times {
  readonly plainFirst: number;
  readonly plainWhole: number;
  readonly keyedFirst: number;
  readonly keyedWhole: number;
  /** What a turn with a call of a built-in tool takes longer than one without. */
  readonly toolStep: number;
  readonly cancel: number;
}
const names = ["plainFirst", "plainWhole", "keyedFirst", "keyedWhole", "toolStep", "cancel"] as const;

async function measure(bench: Bench): Promise<Readonly<Record<keyof Times, readonly number[]>>> {
  const { c, installation } = bench;
  const parley = new Parley({ baseUrl: `http://${bench.serves[0]?.host.address}:8080`, apiKey: c.token });
  const helped = await makeAgent(installation, { parley }, { tools: ["memory"], approvalInChat: { default: "full" } });
  const withoutTool: number[] = [];
  const all: Record<keyof Times, number[]> = {
    plainFirst: [],
    plainWhole: [],
    keyedFirst: [],
    keyedWhole: [],
    toolStep: [],
    cancel: [],
  };
  for (let round = -2; round < rounds; round++) {
    const plain = await timesOf(bench, c.agentId, '[[sim: text="one two"]]');
    const keyed = await timesOf(bench, c.agentId, '[[sim: text="one two"]]', { "idempotency-key": newId("request") });
    const without = await timesOf(bench, helped, '[[sim: text="one two"]]');
    const tool = `[[sim: tool=memory_save args={"text":"note ${round}"}; text="one two"]]`;
    const withTool = await timesOf(bench, helped, tool);
    const cancelMs = await timeOfCancel(bench);
    // What is asked for first is slower: statements are prepared.
    if (round < 0) continue;
    all.plainFirst.push(plain.firstMs);
    all.plainWhole.push(plain.wholeMs);
    all.keyedFirst.push(keyed.firstMs);
    all.keyedWhole.push(keyed.wholeMs);
    all.toolStep.push(withTool.wholeMs);
    withoutTool.push(without.wholeMs);
    all.cancel.push(cancelMs);
  }
  for (const some of [...Object.values(all), withoutTool]) some.sort((a, b) => a - b);
  // The least of both and the middle of both are compared: what the machine does beside it is in either.
  return { ...all, toolStep: all.toolStep.map((ms, place) => ms - (withoutTool[place] as number)) };
}

async function timesOf(
  { c }: Bench,
  agentId: string,
  text: string,
  headers: Record<string, string> = {},
): Promise<{ firstMs: number; wholeMs: number }> {
  const beganAt = performance.now();
  const message = { id: `m-${newId("message")}`, role: "user", parts: [{ type: "text", text }] };
  const response = await c.request("POST", `/v1/agents/${agentId}/sessions`, { message }, headers);
  const stream = new StreamReader(response);
  let firstMs = 0;
  const watch = setInterval(() => {
    if (firstMs === 0 && stream.types.includes("text-delta")) firstMs = performance.now() - beganAt;
  }, 1);
  await stream.closed;
  clearInterval(watch);
  const wholeMs = performance.now() - beganAt;
  expect(stream.types.at(-1)).toBe("finish");
  return { firstMs: firstMs === 0 ? wholeMs : firstMs, wholeMs };
}

async function timeOfCancel({ c }: Bench): Promise<number> {
  const turn = await c.turn('[[sim: text="one two" hangAfterChunks=1]]');
  await eventually(() => turn.stream.types.includes("text-delta"), shownMs);
  const beganAt = performance.now();
  const response = await c.request("POST", `/v1/agents/${c.agentId}/sessions/${turn.sessionId}/cancel`);
  const tookMs = performance.now() - beganAt;
  expect(response.status).toBe(202);
  await turn.stream.closed;
  return tookMs;
}

/** What a round trip over a link takes: the delay, and how late timers are. */
async function pingMs(bench: Bench): Promise<number> {
  const redis = new Redis(bench.serves[0]?.links.redis?.port ?? 0, bench.hosts.gateway);
  const times: number[] = [];
  for (let n = 0; n < 20; n++) {
    const beganAt = performance.now();
    await redis.ping();
    times.push(performance.now() - beganAt);
  }
  redis.disconnect();
  return times.sort((a, b) => a - b)[2] ?? Number.NaN;
}

async function makeTask({ c }: Bench, schedule: object): Promise<string> {
  const task = { agentId: c.agentId, name: "timed", prompt: '[[sim: text="done"]]', schedule };
  const response = await c.request("POST", "/v1/tasks", task);
  const { task: made } = (await response.json()) as { task: { id: string } };
  return made.id;
}

const middleOf = (sorted: readonly number[]) => sorted[sorted.length >> 1];

function each(
  all: Readonly<Record<keyof Times, readonly number[]>>,
  of: (sorted: readonly number[]) => number | undefined,
): Times {
  return Object.fromEntries(names.map((name) => [name, of(all[name]) ?? Number.NaN])) as unknown as Times;
}

/** Debian's libfaketime, which moves the clock of one process. */
const library = (() => {
  const folders = existsSync("/usr/lib") ? readdirSync("/usr/lib") : [];
  const paths = folders.map((name) => join("/usr/lib", name, "faketime/libfaketimeMT.so.1"));
  return paths.find((path) => existsSync(path)) ?? null;
})();

function shifted(by: string): Record<string, string> {
  return { LD_PRELOAD: library ?? "", FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}
