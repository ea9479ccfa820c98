import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel, openEndedMark } from "../harness/held-model.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import {
  aftermathOf,
  type Client,
  callsOf,
  type Installation,
  type JsonResponse,
  sharedRedisUrl,
  startInstallation,
} from "../harness/processes.ts";
import type { ServeProcess, WorkProcess } from "../harness/service-process.ts";
import { expectFree, expectWhole, hasShown } from "../harness/turn-checks.ts";

/** A hundred turns of eight clients take this long on a busy machine. */
const loadMs = 60_000;
const succeeded = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

describe.skipIf(sharedRedisUrl === null)("Postgres", () => {
  let postgres: TestPostgres;
  let installation: Installation;
  let http: ServeProcess;
  let worker: WorkProcess;
  beforeAll(async () => {
    postgres = await startPostgres();
    installation = await startInstallation({ databaseUrl: postgres.url });
    http = await installation.serve();
    worker = await installation.work();
    await installation.work();
  }, 180_000);
  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
  });

  for (const [how, interrupt] of [
    ["restarted", () => postgres.restart()],
    ["killed, and recovering", () => postgres.crash()],
  ] as const) {
    test(`${how} in the middle of turns and under load: no turn is lost or doubled, readers notice nothing`, async () => {
      installation.model.clear();
      await using model = holdModel(installation.model);
      const c = await installation.client(http.url, model.url);
      const long = await c.turn(`long ${openEndedMark} [[sim: chunks=100 delayMs=50]]`);
      const quiet = await c.turn(`quiet ${heldMark} [[sim: text="still there"]]`);
      const json = c.json("waiting [[sim: chunks=80 delayMs=50]]");
      await hasShown(long);
      const load = startLoad(c, how.slice(0, 4), 8);
      await eventually(() => load.responses.size >= 40, loadMs);
      await interrupt();
      const restartedAt = Date.now();
      const joined = await c.join(long.sessionId);
      await eventually(() => load.afterwards() >= 100, loadMs);
      report(`${how}: load goes on`, Date.now() - restartedAt);
      await load.stop();
      model.release();

      await Promise.all([long, quiet, joined].map(({ stream }) => stream.closed));
      for (const turn of [long, joined]) expectWhole(turn);
      expectWhole(quiet, "still there");
      expect((await json).status).toBe(201);
      for (const { turnId } of [long, quiet]) expect(await aftermathOf(installation.sql, turnId)).toEqual(succeeded);
      expect(callsOf(installation.model, `long ${openEndedMark}`)).toBe(1);
      expect(callsOf(installation.model, `quiet ${heldMark}`)).toBe(1);

      const statuses = [...load.responses.values()].map(({ status }) => status);
      report(`${how}: responded 503 of ${statuses.length}`, statuses.filter((status) => status === 503).length);
      for (const [text, response] of load.responses) await expectConsistent(installation, text, response);
      // A job that the outage failed twice comes again after the queue's own pauses, 3 and 7 s, and is then done.
      await eventually(async () => (await unfinished(installation)) === 0, loadMs);
      await expectFree(c, long.sessionId);
      expect(worker.log.filter(({ msg }) => msg === "unforeseen error")).toEqual([]);
    }, 240_000);
  }

  test("503 service_unavailable: frozen longer than requests wait, in bounded time; nothing of it commits later, running turns go on", async () => {
    await using model = holdModel(installation.model);
    const c = await installation.client(http.url, model.url);
    const long = await c.turn(`frozen-long ${openEndedMark} [[sim: chunks=150 delayMs=100]]`);
    const quiet = await c.turn('frozen-quiet [[sim: firstDelayMs=5000 text="through the frost"]]');
    await hasShown(long);
    await postgres.freeze();
    const frozenAt = Date.now();
    try {
      expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
      expect(await (await fetch(`${http.url}/readyz`)).json()).toMatchObject({ checks: { database: "unavailable" } });
      const refused = await Promise.all([
        c.request("POST", `/v1/agents/${c.agentId}/sessions`, {
          message: { id: "m", role: "user", parts: [{ type: "text", text: "frozen-out" }] },
        }),
        c.request("POST", "/v1/prompts", { name: "frozen-out", template: "x" }),
        c.request("GET", "/v1/agents"),
      ]);
      report("frozen: responded 503", Date.now() - frozenAt);
      // The probe waits 2 s and the requests 10 s, all three at once.
      expect(Date.now() - frozenAt).toBeLessThan(25_000);
      for (const response of refused) {
        expect(response.status).toBe(503);
        expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      await eventually(() => Date.now() - frozenAt > 12_000);
    } finally {
      await postgres.thaw();
    }
    model.release();
    await Promise.all([long, quiet].map(({ stream }) => stream.closed));
    expectWhole(long);
    expectWhole(quiet, "through the frost");
    for (const { turnId } of [long, quiet]) expect(await aftermathOf(installation.sql, turnId)).toEqual(succeeded);
    expect((await c.json('[[sim: text="thawed"]]')).status).toBe(201);
    const late = await installation.sql`select 1 from turns where input::text like '%frozen-out%'`;
    expect(late).toHaveLength(0);
    expect(await installation.sql`select 1 from prompts where name = 'frozen-out'`).toHaveLength(0);
    await eventually(async () => (await fetch(`${http.url}/readyz`)).status === 200);
  }, 240_000);
});

/** Turns one after another in several sessions at once, until it is stopped. */
function startLoad(c: Client, mark: string, clients: number) {
  const responses = new Map<string, JsonResponse>();
  let stopped = false;
  let interruptedAt = 0;
  let afterwards = 0;
  const loop = async (client: number) => {
    for (let turn = 0; !stopped; turn++) {
      const text = `load-${mark}-${client}-${turn} [[sim: chunks=3 delayMs=20]]`;
      const response = await c.json(text);
      responses.set(text, response);
      if (Date.now() > interruptedAt && response.status === 201) afterwards++;
    }
  };
  const loops = Array.from({ length: clients }, (_, client) => loop(client));
  return {
    responses,
    /** Turns that succeeded since the last call said otherwise. */
    afterwards: () => {
      if (interruptedAt === 0) {
        interruptedAt = Date.now();
        afterwards = 0;
      }
      return afterwards;
    },
    stop: async () => {
      stopped = true;
      await Promise.all(loops);
    },
  };
}

/** Every request returned 201 and is there once, or returned 503 and left no trace. */
async function expectConsistent({ sql }: Installation, text: string, { status, body }: JsonResponse): Promise<void> {
  const mark = text.split(" ")[0] ?? "";
  const turns = await sql<{ id: string; status: string; messages: number }[]>`
    select id, status, (select count(*)::int from messages m where m.turn_id = t.id) as messages
    from turns t where input -> 'parts' -> 0 ->> 'text' like ${`${mark} %`}`;
  if (status === 201) expect(turns).toMatchObject([{ status: "succeeded", messages: 2 }]);
  else {
    expect(body.error.code).toBe("service_unavailable");
    expect(turns).toHaveLength(0);
  }
}

/** Rows that still wait for somebody. */
async function unfinished({ sql }: Installation): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select (select count(*) from turns where status in ('queued', 'running'))::int
      + (select count(*) from graphile_worker._private_jobs)::int as n`;
  return row?.n ?? 0;
}

function report(what: string, value: number): void {
  process.stderr.write(`  ${what}: ${value}\n`);
}
