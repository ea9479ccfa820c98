/** Rows that one installation is enough for: two HTTP processes and two workers, each on a host, with links to their stores. */
import { afterAll, describe, expect } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { eventually } from "../../harness/eventually.ts";
import { haproxyInstalled, startBalancer } from "../../harness/haproxy.ts";
import { sharedRedisUrl } from "../../harness/processes.ts";
import { addressOf, type Bench, ended, openBench, servePort } from "./bench.ts";
import { expectWholeOver, flowing, refusals, seconds } from "./over.ts";
import { promised, whole } from "./promised.ts";
import { outcomeOf, Traffic } from "./traffic.ts";

/** What a turn may cost more where Redis refuses writes. */
const refusedMsMax = 200;

let opened: Promise<Bench> | null = null;

/** The installation, as it is when nothing is wrong. */
async function shared(): Promise<Bench> {
  opened ??= openBench({ serve: 2, work: 2 });
  const bench = await opened;
  for (const { host } of bench.serves)
    await eventually(async () => {
      const response = await fetch(`http://${host.address}:${servePort}/readyz`);
      return ((await response.json()) as { status: string }).status === "ready";
    }, 60_000);
  return bench;
}

afterAll(async () => (await opened)?.[Symbol.asyncDispose](), 60_000);

describe.skipIf(sharedRedisUrl === null)("one installation", () => {
  promised(
    { name: "redis-restart", fault: "Redis is killed and starts empty after 4 s", promise: whole },
    async (account) => {
      const bench = await shared();
      await expectWholeOver(bench, account, () => bench.restartRedis(() => sleep(4_000)));
    },
  );

  promised({ name: "redis-away", fault: "Redis is away for 15 s", promise: whole }, async (account) => {
    const bench = await shared();
    await expectWholeOver(bench, account, () => bench.restartRedis(() => sleep(15_000)));
  });

  promised(
    { name: "redis-frozen", fault: "Redis does not answer for 8 s, and keeps its connections", promise: whole },
    async (account) => {
      const bench = await shared();
      await expectWholeOver(bench, account, async () => {
        bench.redis?.process.kill("SIGSTOP");
        await sleep(8_000);
        bench.redis?.process.kill("SIGCONT");
      });
    },
  );

  promised(
    { name: "redis-cut", fault: "one HTTP process is cut from Redis for 10 s, another one is not", promise: whole },
    async (account) => {
      const bench = await shared();
      await expectWholeOver(bench, account, async () => {
        bench.serves[0]?.links.redis?.cut();
        await sleep(10_000);
        bench.serves[0]?.links.redis?.heal();
      });
    },
  );

  promised(
    {
      name: "redis-full",
      fault: "Redis refuses writes",
      promise: `\`degraded\`, a metric, a line in the log; a turn costs at most ${refusedMsMax} ms more`,
    },
    async ({ tell }) => {
      const bench = await shared();
      const admin = new Redis(bench.redis?.port ?? 0, "127.0.0.1");
      const saidBefore = complaints(bench);
      await medianTurnMs(bench, 3);
      const healthyMs = await medianTurnMs(bench, 15);
      await admin.config("SET", "maxmemory", "1");
      const refusedMs = await medianTurnMs(bench, 15);
      const state = (await (await bench.c.request("GET", "/readyz")).json()) as { status: string };
      const said = complaints(bench) - saidBefore;
      await admin.config("SET", "maxmemory", "0");
      admin.disconnect();
      tell(
        `${Math.round(refusedMs - healthyMs)} ms more`,
        `a turn of ${Math.round(healthyMs)} ms takes ${Math.round(refusedMs)}; \`${state.status}\`, ${said} lines in the logs of ${bench.works.length} workers`,
      );
      expect(state.status).toBe("degraded");
      expect(said).toBeWithin(1, 10);
      expect(refusedMs - healthyMs).toBeLessThan(refusedMsMax);
    },
  );

  promised(
    {
      name: "one-way",
      fault: "answers of Postgres to one worker are lost for 8 s, its requests are not",
      promise: "nothing is doubled, its turns go on",
    },
    async ({ tell, draw }) => {
      const bench = await shared();
      const traffic = new Traffic([bench.c], { clients: 8, words: 25, everyMs: 80 });
      await flowing(traffic);
      const beganAt = performance.now();
      bench.works[0]?.links.postgres?.mute();
      await sleep(8_000);
      bench.works[0]?.links.postgres?.heal();
      draw(traffic, beganAt, performance.now());
      await sleep(3_000);
      const outcome = await outcomeOf(bench.installation, await traffic.stop());
      tell(
        `longest silence ${seconds(outcome.silenceMs)}`,
        `${outcome.turns} turns: ${outcome.whole} whole, ${outcome.errors} ended with an error; the model was asked twice for ${outcome.twice.length}`,
      );
      expect(outcome).toMatchObject({ broken: 0, errors: 0, refused: 0, faults: [] });
      expect(outcome.silenceMs).toBeLessThan(30_000);
    },
  );

  promised(
    {
      name: "postgres-away",
      fault: "Postgres is away for 6 s, behind a balancer that asks `/readyz`",
      promise: "no 5xx that waiting would have avoided",
    },
    async ({ tell, draw }) => {
      const bench = await shared();
      await using balancer = await startBalancer(bench.serves.map(addressOf));
      const behind = bench.c.at(balancer.url);
      const flow = new Traffic([behind], { clients: 8, words: 20, everyMs: 80 });
      await flowing(flow);
      const reads: Promise<[status: number, ms: number]>[] = [];
      const beganAt = performance.now();
      for (const { links } of bench.members) links.postgres?.stall();
      for (let n = 0; n < 12; n++) {
        reads.push(timed(behind.request("GET", "/v1/agents")));
        await sleep(500);
      }
      for (const { links } of bench.members) links.postgres?.heal();
      draw(flow, beganAt, performance.now());
      const answers = await Promise.all(reads);
      await sleep(3_000);
      const outcome = await outcomeOf(bench.installation, await flow.stop());
      const failed = answers.filter(([status]) => status !== 200).length;
      tell(
        `${failed} of ${answers.length} GETs and ${outcome.refused} of ${outcome.turns} turns were a 5xx`,
        `slowest GET ${seconds(Math.max(...answers.map(([, ms]) => ms)))}; ${outcome.whole} turns whole`,
      );
      expect(failed).toBe(0);
      expect(outcome).toMatchObject({ broken: 0, errors: 0, refused: 0, faults: [], twice: [] });
    },
    { skipped: haproxyInstalled ? null : "needs HAProxy" },
  );

  promised(
    {
      name: "replaced",
      fault: "every process is replaced under traffic, behind a balancer",
      promise: "no non-2xx, no broken stream, kept-alive connections too",
    },
    async ({ tell, draw }) => {
      const bench = await shared();
      await using balancer = await startBalancer(bench.serves.map(addressOf));
      const behind = bench.c.at(balancer.url);
      const traffic = new Traffic([behind], { clients: 8, words: 20, everyMs: 80 });
      await flowing(traffic);
      const beganAt = performance.now();
      for (const member of bench.members) {
        // As an orchestrator does, which goes on when the ones before are ready to the balancer.
        if (member.role === "serve") await balancer.hasUp(bench.serves.length);
        expect(await ended(member.process)).toBe(0);
        await member.start();
      }
      draw(traffic, beganAt, performance.now());
      await sleep(2_000);
      const outcome = await outcomeOf(bench.installation, await traffic.stop());
      tell(
        `${outcome.refused} non-2xx, ${outcome.broken} broken`,
        `${outcome.turns} turns over ${bench.members.length} processes replaced: ${outcome.whole} whole; ${refusals(outcome)}; longest silence ${seconds(outcome.silenceMs)}`,
      );
      expect(outcome).toMatchObject({ broken: 0, errors: 0, refused: 0, faults: [], twice: [] });
    },
    { skipped: haproxyInstalled ? null : "needs HAProxy" },
  );
});

/** How often workers have said that Redis fails. */
function complaints({ works }: Bench): number {
  const lines = works.flatMap(({ process }) => process.log);
  return lines.filter(({ msg }) => msg.startsWith("the Redis of REDIS_URL fails")).length;
}

async function medianTurnMs({ c }: Bench, turns: number): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const beganAt = performance.now();
    const { stream } = await c.turn('timed [[sim: text="a b c d" chunks=4 delayMs=100]]');
    await stream.closed;
    expect(stream.types.at(-1)).toBe("finish");
    times.push(performance.now() - beganAt);
  }
  return times.sort((a, b) => a - b)[turns >> 1] ?? Number.NaN;
}

async function timed(asked: Promise<Response>): Promise<[status: number, ms: number]> {
  const beganAt = performance.now();
  const response = await asked;
  await response.text();
  return [response.status, performance.now() - beganAt];
}
