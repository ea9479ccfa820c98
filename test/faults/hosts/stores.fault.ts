/** Rows that need stores of their own. */
import { describe, expect } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../harness/eventually.ts";
import { openHosts } from "../../harness/hosts.ts";
import { replicationInstalled, startPostgresPair } from "../../harness/postgres-pair.ts";
import { sharedRedisUrl, startInstallation } from "../../harness/processes.ts";
import { startRedis } from "../../harness/redis.ts";
import { launchServe } from "../../harness/service-process.ts";
import { type Bench, openBench } from "./bench.ts";
import { expectWholeOver, flowing, refusals, seconds } from "./over.ts";
import { promised, whole } from "./promised.ts";
import { ask, endOf, outcomeOf, type SeenTurn, silenceOf, Traffic } from "./traffic.ts";

const skipped = replicationInstalled ? null : "needs Postgres 15 of the system";
const traffic = { clients: 8, words: 20, everyMs: 80, keyed: true };
/** A tool that watches the primary takes this long to be sure. */
const noticedMs = 2_000;
/** New turns are shown within this of the promotion. */
const promotedMsMax = 10_000;

/** Whether hosts are hosts here: on addresses of one, a cable cannot be pulled. */
const spaces = await (async () => {
  await using hosts = openHosts();
  return hosts.kind === "network namespaces";
})();

describe.skipIf(sharedRedisUrl === null)("stores", () => {
  promised(
    {
      name: "vanish",
      fault: "the host of a worker vanishes without a word",
      promise: "its turns go on or end within 10 s",
    },
    async ({ tell, draw }) => {
      await using bench = await openBench({ serve: 1, work: 2, database: "pair", redis: "direct" });
      const traffic = new Traffic([bench.c], { clients: 8, words: 30, everyMs: 100 });
      await flowing(traffic);
      const [gone] = bench.works;
      const goneAt = performance.now();
      const running = traffic.open;
      gone?.host.unplug();
      await eventually(() => running.every(({ endedAt }) => endedAt > 0), 60_000);
      const afterMs = Math.max(...running.map(silenceOf));
      draw(traffic, goneAt, goneAt + afterMs);
      await sleep(3_000);
      const seen = await traffic.stop();
      const outcome = await outcomeOf(bench.installation, seen);
      tell(
        `${seconds(afterMs)} without a word at most`,
        `${outcome.turns} turns: ${outcome.whole} whole, ${outcome.errors} ended with an error; none hangs`,
      );
      expect(outcome).toMatchObject({ broken: 0, refused: 0, faults: [] });
      expect(outcome.errors).toBeLessThanOrEqual(running.length);
      expect(afterMs).toBeLessThan(10_000);
    },
    {
      skipped: !spaces ? "needs network namespaces" : !replicationInstalled ? "needs Postgres 15 of the system" : null,
    },
  );

  promised(
    {
      name: "primary-sync",
      fault: "the primary is killed, a synchronous standby is promoted after 2 s",
      promise:
        "every accepted turn exists; new turns within 10 s of the promotion; no session is wedged, nothing doubled",
    },
    async ({ tell, draw }) => {
      await using bench = await openBench({ serve: 2, work: 2, database: "synchronous pair" });
      const clients = bench.serves.map(({ host }) => bench.c.at(`http://${host.address}:8080`));
      const flow = new Traffic(clients, traffic);
      await flowing(flow);
      const killedAt = performance.now();
      await bench.pair?.primary.kill();
      await sleep(noticedMs);
      await bench.pair?.standby.promote();
      const promotedAt = performance.now();
      const firstMs = await firstTurnAfter(flow, promotedAt);
      draw(flow, killedAt, promotedAt);
      await sleep(4_000);
      const seen = await flow.stop();
      await findsPrimary(bench);
      const outcome = await outcomeOf(bench.installation, seen);
      const wedged = await wedgedOf(bench, seen);
      tell(
        `new turns ${seconds(firstMs)} after the promotion`,
        `${outcome.turns} turns: ${outcome.whole} whole, ${outcome.errors} ended with an error; ${refusals(outcome)}; ${wedged} sessions wedged`,
      );
      expect(outcome).toMatchObject({ broken: 0, faults: [] });
      expect(wedged).toBe(0);
      expect(firstMs).toBeLessThan(promotedMsMax);
    },
    { skipped },
  );

  promised(
    {
      name: "primary-async",
      fault: "the same, asynchronous: the standby misses the last 2 s of commits",
      promise: "what was lost is gone and said; no session, log or idempotency key of the time before is wedged",
    },
    async ({ tell, draw }) => {
      await using bench = await openBench({ serve: 2, work: 2, database: "pair" });
      const clients = bench.serves.map(({ host }) => bench.c.at(`http://${host.address}:8080`));
      const flow = new Traffic(clients, traffic);
      await flowing(flow);
      await bench.pair?.standby.cutOff();
      await sleep(2_000);
      const killedAt = performance.now();
      await bench.pair?.primary.kill();
      await bench.pair?.standby.promote();
      const promotedAt = performance.now();
      const firstMs = await firstTurnAfter(flow, promotedAt);
      draw(flow, killedAt, promotedAt);
      await sleep(4_000);
      const seen = await flow.stop();
      await findsPrimary(bench);
      const lost = await lostOf(bench, seen);
      const lostIds = new Set(lost.map(({ turnId }) => turnId));
      const outcome = await outcomeOf(bench.installation, seen, lostIds);
      const repeated = await repeatedOf(bench, lost);
      const wedged = await wedgedOf(bench, seen);
      const told = lost.filter((turn) => endOf(turn) === "error").length;
      tell(
        `${lost.length} of ${outcome.turns} turns lost, ${wedged} sessions wedged`,
        `of the lost ${lost.length - told} had been read whole, ${told} were told; their ${repeated} keys run anew; new turns ${seconds(firstMs)} after the promotion`,
      );
      expect(lost.length).toBeGreaterThan(0);
      expect(outcome).toMatchObject({ broken: 0 });
      expect(repeated).toBe(lost.length);
      expect(wedged).toBe(0);
    },
    { skipped },
  );

  for (const kind of ["sentinels", "cluster"] as const)
    promised(
      {
        name: `redis-${kind}`,
        fault:
          kind === "cluster" ? "a master of a Redis Cluster is killed" : "the master is killed, Sentinels fail over",
        promise: whole,
      },
      async (account) => {
        await using bench = await openBench({ serve: 2, work: 2, redis: kind });
        await expectWholeOver(bench, account, async () => bench.group?.failOver());
      },
    );

  promised(
    {
      name: "wrong-store",
      fault: "a standby, a replica or a member of a Redis Cluster stands in the wrong variable",
      promise: "refused at the start in one line",
    },
    async ({ tell }) => {
      await using pair = await startPostgresPair();
      await using opened = new AsyncDisposableStack();
      const redis = await startRedis();
      const replica = await startRedis(undefined, ["--replicaof", "127.0.0.1", String(redis.port)]);
      const member = await startRedis(undefined, ["--cluster-enabled", "yes"]);
      for (const server of [redis, replica, member]) opened.defer(() => server.stop());
      await using installation = await startInstallation();
      const lines: string[] = [];
      for (const env of [{ DATABASE_URL: pair.standby.url }, { REDIS_URL: replica.url }, { REDIS_URL: member.url }])
        lines.push(...(await refusal({ ...installation.env, ...env })));
      const variables = lines.map((line) => /^parley: (\S+) leads to (a \S+(?: of a Redis Cluster)?)/.exec(line));
      tell(`${lines.length} of 3 in one line`, variables.map((found) => found?.[2] ?? "?").join("; "));
      expect(variables.map((found) => found?.[1])).toEqual(["DATABASE_URL", "REDIS_URL", "REDIS_URL"]);
    },
    { skipped: replicationInstalled ? null : "needs Postgres 15 of the system" },
  );
});

/** Waits until the connections of the test lead to the new primary too. */
function findsPrimary({ installation }: Bench): Promise<unknown> {
  return eventually(
    () =>
      installation.sql`select 1`.then(
        () => true,
        () => false,
      ),
    60_000,
  );
}

/** How long after a moment the first turn that was accepted since shows something. */
async function firstTurnAfter(flow: Traffic, moment: number): Promise<number> {
  const turn = await eventually(
    () => flow.turns.find(({ acceptedAt, cameAt }) => acceptedAt > moment && cameAt.length > 0),
    60_000,
  );
  return (turn.cameAt[0] ?? 0) - moment;
}

/** How many of the sessions that were ever told of, and exist, do not take a turn. */
async function wedgedOf({ c, installation }: Bench, seen: readonly SeenTurn[]): Promise<number> {
  const ids = [...new Set(seen.flatMap(({ sessionId }) => (sessionId === "" ? [] : [sessionId])))];
  const rows = await installation.sql<{ id: string }[]>`select id from sessions where id = any(${ids})`;
  const answers = await Promise.all(rows.map(({ id }) => c.json('[[sim: text="free"]]', id)));
  return answers.filter(({ status }) => status !== 200).length;
}

/** Turns that were accepted and do not exist. */
async function lostOf({ installation }: Bench, seen: readonly SeenTurn[]): Promise<readonly SeenTurn[]> {
  const accepted = seen.filter(({ stream }) => stream !== null);
  const rows = await installation.sql<{ id: string }[]>`
    select id from turns where id = any(${accepted.map(({ turnId }) => turnId)})`;
  const ids = new Set(rows.map(({ id }) => id));
  return accepted.filter(({ turnId }) => !ids.has(turnId));
}

/** How many of lost turns run when they are asked for again under their keys, or are refused because their session is gone. */
async function repeatedOf({ c, installation }: Bench, lost: readonly SeenTurn[]): Promise<number> {
  let right = 0;
  for (const turn of lost) {
    const again: SeenTurn = { ...turn, statuses: [], stream: null };
    if (await ask(c, again, traffic)) {
      await again.stream?.closed;
      right += again.turnId !== turn.turnId && endOf(again) === "whole" ? 1 : 0;
    } else {
      const rows = await installation.sql`select 1 from sessions where id = ${turn.into}`;
      right += again.statuses[0] === 404 && rows.length === 0 ? 1 : 0;
    }
  }
  return right;
}

/** What a process says that does not start. */
async function refusal(env: Record<string, string>): Promise<string[]> {
  return launchServe(env).then(
    () => [],
    (error: Error) => error.message.split("\n").filter((line) => line.startsWith("parley: ")),
  );
}
