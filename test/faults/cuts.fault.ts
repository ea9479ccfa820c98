import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Sql } from "../../src/kernel/database/client.ts";
import { eventually } from "../harness/eventually.ts";
import { aftermathOf, type Client, callsOf, sharedRedisUrl, type Turn } from "../harness/processes.ts";
import type { WorkProcess } from "../harness/service-process.ts";
import { StreamReader } from "../harness/stream-reader.ts";
import { expectBroken, expectFree, expectOneSequence, expectWhole, hasShown } from "../harness/turn-checks.ts";
import { within } from "../harness/within.ts";
import { type LinkedInstallation, type Member, openLinkedInstallation } from "./installation.ts";
import { type Disturbance, disturbances, type Link, openLink } from "./link.ts";

/** A request that Postgres cannot serve is refused within this, on a busy machine. */
const refusedMs = 16_000;
/** A stream whose log is out of reach has ended within this after its turn. */
const streamEndMs = 20_000;
/** Connections that nothing comes back on are opened again within this. */
const lostMs = 40_000;
/** A worker that is cut off from Postgres is replaced within this; one whose way is only silent must first pass for frozen. */
const replacedMs = { cut: 25_000, stall: 60_000 };
const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };
const testMs = 120_000;

/** A network that fails between each two programs, one pair after another. */
describe.skipIf(sharedRedisUrl === null)("the network", () => {
  let linked: LinkedInstallation;
  let http: Member;
  let workers: readonly Member[];
  let c: Client;
  beforeAll(async () => {
    linked = await openLinkedInstallation({ serve: 1, work: 2 });
    http = linked.members[0]!;
    workers = linked.members.slice(1);
    c = await linked.installation.client(http.url);
  }, testMs);
  afterAll(async () => {
    const misdeeds = linked?.misdeeds() ?? [];
    await linked?.[Symbol.asyncDispose]();
    expect(misdeeds).toEqual([]);
  }, testMs);

  /** Disturbs links while `meanwhile` runs. */
  async function disturbed<T>(links: readonly Link[], how: Disturbance, meanwhile: () => Promise<T>): Promise<T> {
    for (const link of links) link[how]();
    try {
      return await meanwhile();
    } finally {
      for (const link of links) link.heal();
    }
  }

  for (const how of disturbances) {
    test(
      `client and HTTP process, ${how}: the turn goes on, and a join shows all of it`,
      async () => {
        await using link = await openLink(Number(new URL(http.url).port));
        const turn = await c.at(`http://127.0.0.1:${link.port}`).turn(`client-${how} [[sim: chunks=60 delayMs=50]]`);
        await hasShown(turn);
        const joined = await disturbed([link], how, async () => {
          const joined = await c.join(turn.sessionId);
          await joined.stream.closed;
          return joined;
        });
        expectWhole(joined);
        await turn.stream.closed;
        expect(joined.stream.ids.slice(0, turn.stream.ids.length)).toEqual(turn.stream.ids);
        if (how === "stall") expectWhole(turn);
        else expect(turn.stream.finished).toBe(false);
        expect(await aftermathOf(linked.installation.sql, turn.turnId)).toEqual(ranOnce);
      },
      testMs,
    );

    for (const [who, links] of [
      ["HTTP process", () => [http.redis]],
      ["workers", () => workers.map(({ redis }) => redis)],
    ] as const) {
      test(
        `${who} and Redis, ${how}: the turn commits, and every stream ends`,
        async () => {
          const turn = await c.turn(`redis-${who}-${how} [[sim: chunks=40 delayMs=50]]`);
          await hasShown(turn);
          await disturbed(links(), how, async () => {
            const joined = await c.join(turn.sessionId);
            expect(await aftermathOf(linked.installation.sql, turn.turnId)).toEqual(ranOnce);
            await within(streamEndMs, Promise.all([turn, joined].map(({ stream }) => stream.closed)));
            for (const { stream } of [turn, joined]) {
              expect(stream.finished).toBe(true);
              expectOneSequence({ stream });
              expect(["finish", "error"]).toContain(stream.types.at(-1) ?? "");
            }
            const meanwhile = await c.json('[[sim: text="meanwhile"]]');
            expect(meanwhile.body.message.parts.at(-1).text).toBe("meanwhile");
          });
          await expectLive(c, linked.installation.sql);
        },
        testMs,
      );
    }

    test(
      `HTTP process and Postgres, ${how}: 503 in bounded time that leaves nothing behind, open streams go on`,
      async () => {
        const turn = await c.turn(`postgres-http-${how} [[sim: chunks=80 delayMs=50]]`);
        await hasShown(turn);
        const mark = `cut-out-${how}`;
        await disturbed([http.postgres], how, async () => {
          const askedAt = Date.now();
          const [post, get] = await Promise.all([c.json(mark), c.request("GET", "/v1/agents")]);
          expect(Date.now() - askedAt).toBeLessThan(refusedMs);
          expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
          if (how === "drop") {
            expect([post.status, get.status]).toEqual([201, 200]);
            return;
          }
          expect([post.status, post.body.error.code, get.status]).toEqual([503, "service_unavailable", 503]);
          expect(Number(post.headers.get("retry-after"))).toBeGreaterThan(0);
          expect(await (await fetch(`${http.url}/readyz`)).json()).toMatchObject({
            checks: { database: "unavailable" },
          });
        });
        await eventually(async () => (await fetch(`${http.url}/readyz`)).status === 200, 20_000);
        await turn.stream.closed;
        expectWhole(turn);
        await expectLive(c, linked.installation.sql);
        const rows = await linked.installation.sql`select 1 from turns where input::text like ${`%${mark}"%`}`;
        expect(rows).toHaveLength(how === "drop" ? 1 : 0);
      },
      testMs,
    );

    test(
      `workers and Postgres, ${how} for 2 s: turns go on as if nothing had been`,
      async () => {
        const shown = await c.turn(`postgres-work-${how} [[sim: chunks=60 delayMs=80]]`);
        const quiet = `postgres-work-silent-${how}`;
        const silent = await c.turn(`${quiet} [[sim: firstDelayMs=4000 text="late"]]`);
        await hasShown(shown);
        // A claim that the break interrupts is repeated, so the turn has to be past its claim.
        const { model } = linked.installation;
        await eventually(() => callsOf(model, quiet) === 1);
        const links = workers.map(({ postgres }) => postgres);
        await disturbed(links, how, () => lasting(2_000));
        await Promise.all([shown, silent].map(({ stream }) => stream.closed));
        expectWhole(shown);
        expectWhole(silent, "late");
        for (const { turnId } of [shown, silent])
          expect(await aftermathOf(linked.installation.sql, turnId)).toEqual(ranOnce);
        expect(callsOf(model, quiet)).toBe(1);
        await expectLive(c, linked.installation.sql);
      },
      testMs,
    );

    test(
      `worker and model, ${how}: the turn ends, well or as failed, and the session is free`,
      async () => {
        await using link = await openLink(linked.installation.model.port);
        const agentId = await agentBehind(c, link);
        const path = `/v1/agents/${agentId}/sessions`;
        const text = `model-${how} [[sim: chunks=40 delayMs=50]]`;
        const started = await start(c, path, text);
        await hasShown(started);
        await disturbed([link], how, async () => {
          if (how === "stall") return lasting(2_000);
          await started.stream.closed;
        });
        await started.stream.closed;
        if (how === "stall") expectWhole(started);
        else expectBroken(started);
        const status = how === "stall" ? "succeeded" : "failed";
        const messages = how === "stall" ? 2 : 0;
        expect(await aftermathOf(linked.installation.sql, started.turnId)).toEqual({ ...ranOnce, status, messages });
        const again = await start(c, `${path}/${started.sessionId}`, '[[sim: text="again"]]', started.sessionId);
        await again.stream.closed;
        expectWhole(again, "again");
      },
      testMs,
    );
  }

  test(
    "HTTP process and Postgres, what is open lost for good: responses come again in bounded time",
    async () => {
      http.postgres.lose();
      // Every connection of the pool, not only the first that is missed.
      await eventually(async () => {
        const responses = await Promise.all(Array.from({ length: 30 }, () => c.request("GET", "/v1/agents")));
        return responses.every(({ status }) => status === 200);
      }, lostMs);
      await expectLive(c, linked.installation.sql);
    },
    testMs,
  );

  test(
    "workers and Postgres, what is open lost for good: turns are run again in bounded time",
    async () => {
      const shown = await c.turn("lost-shown [[sim: chunks=60 delayMs=80]]");
      await hasShown(shown);
      for (const { postgres } of workers) postgres.lose();
      const since = Date.now();
      const waiting = await c.turn('[[sim: text="waited"]]');
      await within(lostMs, Promise.all([shown, waiting].map(({ stream }) => stream.closed)));
      process.stderr.write(`  lost: ended after ${Date.now() - since} ms\n`);
      expectWhole(waiting, "waited");
      await expectLive(c, linked.installation.sql);
    },
    testMs,
  );

  test(
    "everybody and Redis, what is open lost for good: turns are streamed again in bounded time",
    async () => {
      for (const { redis } of linked.members) redis.lose();
      await expectLive(c, linked.installation.sql);
    },
    testMs,
  );

  for (const how of ["cut", "stall"] as const) {
    test(
      `one worker and Postgres, ${how} for long: another ends its turn, and nothing it writes afterwards counts`,
      async () => {
        const turn = await c.turn(`lost-${how} [[sim: chunks=3000 delayMs=30]]`);
        await hasShown(turn);
        const { sql } = linked.installation;
        const [row] = await sql<{ worker: string }[]>`select worker_id as worker from turns where id = ${turn.turnId}`;
        const member = workers.find(({ process }) => (process as WorkProcess).workerId === row?.worker);
        await disturbed([member!.postgres], how, async () => {
          const since = Date.now();
          await within(replacedMs[how], turn.stream.closed);
          process.stderr.write(`  ${how}: ended after ${Date.now() - since} ms\n`);
          expectBroken(turn);
          await expectFree(c, turn.sessionId);
        });
        await eventually(async () => {
          const [held] = await sql`select 1 from pg_locks where locktype = 'advisory' and objsubid = 1
            and database = (select oid from pg_database where datname = current_database())`;
          return held === undefined;
        }, 60_000);
        expect(await aftermathOf(sql, turn.turnId)).toEqual({ ...ranOnce, status: "failed", messages: 0 });
        await expectFree(c, turn.sessionId);
      },
      testMs,
    );
  }
});

/** A new turn is streamed whole, and while it runs: without the relay, all of it would come at its end. */
async function expectLive(c: Client, sql: Sql): Promise<void> {
  await eventually(async () => {
    const turn = await c.turn("live [[sim: chunks=20 delayMs=50]]");
    // A turn may end with an error, and show nothing.
    await Promise.race([hasShown(turn).catch(() => {}), turn.stream.closed]);
    const [running] = await sql`select 1 from turns where id = ${turn.turnId} and status = 'running'`;
    await turn.stream.closed;
    expectOneSequence(turn);
    // Right after a disturbance a connection may still be on its way back.
    return running !== undefined && turn.stream.types.at(-1) === "finish";
  }, 30_000);
}

/** An agent whose model is reached through a link. */
async function agentBehind(c: Client, link: Link): Promise<string> {
  const name = crypto.randomUUID();
  const key = { providerType: "custom", baseUrl: `http://127.0.0.1:${link.port}/v1`, apiKey: "sk-test-0123456789" };
  const provider = (await (await c.request("POST", "/v1/providers", { name, ...key })).json()) as { id: string };
  const agent = { name, model: "simulated/model", providerId: provider.id };
  return ((await (await c.request("POST", "/v1/agents", agent)).json()) as { id: string }).id;
}

/** The turn of another agent than the client's own. */
async function start(c: Client, path: string, text: string, sessionId?: string): Promise<Turn> {
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const response = await c.request("POST", path, { message });
  expect(response.ok).toBe(true);
  const made = response.headers.get("location")?.split("/").at(-1);
  return {
    turnId: response.headers.get("x-turn-id") ?? "",
    sessionId: sessionId ?? made ?? "",
    stream: new StreamReader(response),
  };
}

/** The time that a disturbance lasts. */
function lasting(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
