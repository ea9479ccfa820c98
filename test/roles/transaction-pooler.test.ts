import { describe, expect, test } from "bun:test";
import { Parley } from "parley/client";
import { newId } from "../../src/kernel/ids.ts";
import { eventually } from "../harness/harness.ts";
import { type PgBouncer, pgbouncerInstalled, startPgbouncer } from "../harness/pgbouncer.ts";
import {
  aftermathOf,
  type Client,
  type Installation,
  sharedRedisUrl,
  startInstallation,
  textOf,
} from "../harness/processes.ts";
import { type HeardPostgres, hearPostgres } from "../harness/said-to-postgres.ts";
import { userMessage } from "../harness/seed.ts";
import { WebhookReceiver } from "../servers/webhook-receiver.ts";

/** 5: 40 workers and 20 HTTP processes on 60 server connections, with 100 beside the pooler; 1 is a fifth of that. */
const scale = Number(process.env.PARLEY_TEST_POOLED_SCALE ?? "1");
const startedAtOnce = 4;
const startMs = 600_000 * scale;
const succeeded = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

/** An installation whose database has a pooler in transaction mode, and what is said on both ways. */
interface Pooled extends AsyncDisposable {
  readonly installation: Installation;
  readonly pooler: PgBouncer;
  readonly direct: HeardPostgres;
  readonly pooled: HeardPostgres;
  readonly env: Record<string, string>;
}

async function startPooled(servers: number): Promise<Pooled> {
  const stack = new AsyncDisposableStack();
  const installation = stack.use(await startInstallation());
  const direct = stack.use(await hearPostgres(installation.databaseUrl));
  const pooled = stack.use(await hearPostgres(installation.databaseUrl));
  const pooler = await startPgbouncer(pooled.url, "transaction", servers);
  stack.defer(() => pooler.stop());
  const env = { DATABASE_URL: direct.url, DATABASE_POOL_URL: pooler.url };
  return { installation, pooler, direct, pooled, env, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** What belongs to a session of the server, or outlives a transaction. */
const ofSession = [
  /^\s*(listen|unlisten|prepare|deallocate|discard|load|declare)\b/i,
  /^\s*(re)?set\s+(?!local\b|transaction\b)/i,
  /\bpg_(try_)?advisory_(lock|unlock)\b/i,
  /\bset_config\([^;]*\bfalse\s*\)/i,
  /\b(create\s+(local\s+|global\s+)?temp|into\s+temp)/i,
];
const writes = /\b(insert\s+into|update|delete\s+from)\s+(\/\*.*?\*\/\s*)?(turns|sessions|messages)\b/i;
const writesOf = ({ said }: HeardPostgres) => said.filter((text) => writes.test(text));

describe.skipIf(!pgbouncerInstalled || sharedRedisUrl === null)("DATABASE_POOL_URL", () => {
  test("everything runs, nothing of a session is said over the pooler, and nine tenths of the writes are", async () => {
    await using all = await startPooled(10);
    const { installation, env } = all;
    const http = await installation.serve(env);
    const c = await installation.client(http.url);
    await Promise.all([installation.work(env), installation.work(env)]);
    await plainTurns(installation, c);
    await useTheRest(c, http.url);
    for (const text of all.pooled.said) for (const kind of ofSession) expect(text).not.toMatch(kind);
    expect([...all.pooled.prepared]).toEqual([]);
    const [over, beside] = [writesOf(all.pooled), writesOf(all.direct)];
    process.stderr.write(
      `  writes over the pooler ${over.length}, beside it ${beside.length}: ${[...new Set(beside)].map((text) => text.slice(0, 80))}\n`,
    );
    expect(over.length / (over.length + beside.length)).toBeGreaterThan(0.9);
    expect(all.direct.said.some((text) => /^\s*listen/i.test(text))).toBe(true);
    const limits = all.pooled.said.filter((text) => text.includes("pooler.limit")).length;
    const begun = all.pooled.said.filter((text) => /^\s*begin.*set local statement_timeout/is.test(text)).length;
    expect(limits).toBeGreaterThan(over.length / 2);
    expect(begun).toBeGreaterThan(0);
  }, 240_000);

  test("a pooler that is killed under traffic and comes back: nothing is lost, doubled or refused", async () => {
    await using all = await startPooled(6);
    const { installation, env } = all;
    const c = await installation.client((await installation.serve(env)).url);
    await Promise.all([installation.work(env), installation.work(env)]);
    const statuses: number[] = [];
    const turnIds: string[] = [];
    let stopped = false;
    const clients = [1, 2, 3, 4, 5, 6].map(async (client) => {
      for (let turn = 0; !stopped; turn++) {
        const { status, turnId } = await c.json(`turn-${client}-${turn} [[sim: chunks=3 delayMs=20]]`);
        statuses.push(status);
        if (status === 201) turnIds.push(turnId ?? "");
      }
    });
    for (let round = 1; round <= 3; round++) {
      await eventually(() => statuses.length >= round * 12, 60_000);
      await all.pooler.restart();
    }
    const enough = statuses.length + 12;
    await eventually(() => statuses.length > enough, 60_000);
    stopped = true;
    await Promise.all(clients);
    expect(statuses.filter((status) => status !== 201)).toEqual([]);
    for (const turnId of turnIds) {
      const aftermath = await aftermathOf(installation.sql, turnId);
      expect(aftermath).toMatchObject({ status: "succeeded", metered: 1, messages: 2 });
    }
  }, 240_000);

  test(
    "as many processes as connections of Postgres would not be enough for: all run",
    async () => {
      await using all = await startPooled(12 * scale);
      const { installation, env } = all;
      const [http, work] = [4 * scale, 8 * scale];
      const own = { ...env, WORKER_CONCURRENCY: "50" };
      const https = await startMany(http, () => installation.serve(own));
      await startMany(work, () => installation.work(own));
      const first = await installation.client(https[0]?.url ?? "");
      const turns = Array.from({ length: 10 * http }, (_, n) =>
        first.at(https[n % http]?.url ?? "").json(`turn ${n} [[sim: chunks=3 delayMs=20]]`),
      );
      const statuses = (await Promise.all(turns)).map(({ status }) => status);
      expect(statuses.filter((status) => status !== 201)).toEqual([]);
      const [direct, pooled] = [all.direct.connectionsMost(), all.pooled.connectionsMost()];
      process.stderr.write(
        `  ${http} HTTP processes and ${work} workers, ${statuses.length} turns at once: ${direct} connections beside the pooler at most, ${pooled} behind it\n`,
      );
      // Some more while they start: each checks the database.
      expect(direct).toBeLessThanOrEqual(20 * scale);
      // One that the pooler has just closed may be counted beside the one in its place.
      expect(pooled).toBeLessThanOrEqual(12 * scale + 1);
    },
    startMs,
  );

  test("what got a 503 while the pooler kept it does not happen later", async () => {
    await using all = await startPooled(4);
    const { installation, env } = all;
    const c = await installation.client((await installation.serve(env)).url);
    await installation.work(env);
    expect((await c.json('[[sim: text="before"]]')).status).toBe(201);
    all.pooler.freeze();
    const refused = await Promise.all([c.json("kept-too-long"), c.json("kept-too-long")]);
    all.pooler.thaw();
    expect(refused.map(({ status }) => status)).toEqual([503, 503]);
    await eventually(async () => (await c.json('[[sim: text="after"]]')).status === 201, 60_000);
    expect(await installation.sql`select 1 from turns where input::text like '%kept-too-long%'`).toHaveLength(0);
  }, 120_000);

  test("another database, or a pooler that is away, is refused at the start in one line without its value", async () => {
    await using installation = await startInstallation();
    await using other = await startInstallation();
    const pooler = await startPgbouncer(other.databaseUrl, "transaction", 2);
    const wrong = await failureOf(installation.serve({ DATABASE_POOL_URL: pooler.url }));
    expect(wrong).toContain("DATABASE_POOL_URL leads to another database than DATABASE_URL");
    await pooler.stop();
    const away = await failureOf(installation.work({ DATABASE_POOL_URL: "postgres://u:secret-word@127.0.0.1:1/db" }));
    expect(away).toContain("DATABASE_POOL_URL");
    expect(away).not.toContain("secret-word");
  }, 120_000);
});

/** Starts processes a few at a time, so that each of them has started in its time. */
async function startMany<T>(count: number, start: () => Promise<T>): Promise<T[]> {
  const started: T[] = [];
  while (started.length < count) {
    const some = Math.min(startedAtOnce, count - started.length);
    started.push(...(await Promise.all(Array.from({ length: some }, start))));
  }
  return started;
}

/** Turns of new and of old sessions, their streams, and a repeated Idempotency-Key. */
async function plainTurns(installation: Installation, c: Client): Promise<void> {
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const turn = await c.turn(`turn ${n} [[sim: chunks=4 delayMs=5]]`);
      await turn.stream.closed;
      expect(textOf(turn.stream.chunks)).not.toBe("");
      expect((await c.json(`again ${n}`, turn.sessionId)).status).toBe(200);
      expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(succeeded);
    }),
  );
  const body = { message: userMessage("with a key"), stream: false };
  const path = `/v1/agents/${c.agentId}/sessions`;
  const key = { "idempotency-key": newId("request") };
  const ids = [];
  for (let n = 0; n < 2; n++) ids.push((await c.request("POST", path, body, key)).headers.get("x-turn-id"));
  expect(ids[0]).toBe(ids[1] as string);
}

/** A cancellation, an approval that is decided, a task's run, and a webhook that is told. */
async function useTheRest(c: Client, baseUrl: string): Promise<void> {
  const parley = new Parley({ baseUrl, apiKey: c.token });
  const receiver = new WebhookReceiver();
  await receiver.start();
  try {
    const { secret } = await parley.webhooks.create({ url: `${receiver.url}/hook`, events: ["turn.ended"] });
    const held = await c.turn("cancel me [[sim: chunks=500 delayMs=50]]");
    const heldPath = `/v1/agents/${c.agentId}/sessions/${held.sessionId}`;
    expect((await c.request("POST", `${heldPath}/cancel`)).ok).toBe(true);
    await held.stream.closed;
    await eventually(() => receiver.received("/hook", secret).length > 0, 30_000);
    const asking = await makeAgentThatAsks(parley, c);
    const path = `/v1/agents/${asking}/sessions`;
    const message = userMessage('[[sim: tool=memory_save args={"text":"likes tea"} ; text="All done."]]');
    const first = await c.request("POST", path, { message });
    await first.text();
    const session = first.headers.get("location") ?? "";
    const { approvals } = (await (await c.request("GET", `${session}/tool-approvals`)).json()) as {
      approvals: { id: string }[];
    };
    const decided = await c.request("POST", `${session}/tool-approvals/${approvals[0]?.id}`, { approved: true });
    expect(decided.status).toBe(202);
    await eventually(async () => {
      const { data } = (await (await c.request("GET", `${session}/messages`)).json()) as { data: unknown[] };
      return JSON.stringify(data).includes("All done.");
    }, 30_000);
    const { task } = await parley.tasks.create({ name: "Task", agentId: c.agentId, prompt: "Do it." } as never);
    const { runId } = await parley.taskRuns.start(task.id);
    await eventually(async () => {
      const run = await c.request("GET", `/v1/tasks/${task.id}/runs/${runId}`);
      return JSON.stringify(await run.json()).includes('"succeeded"');
    }, 30_000);
  } finally {
    await receiver.stop();
  }
}

async function makeAgentThatAsks(parley: Parley, c: Client): Promise<string> {
  const { providerId } = await parley.agents.get(c.agentId);
  const fields = { tools: ["memory"], approvalInChat: { default: "manual" } };
  return (await parley.agents.create({ name: "asks", model: "simulated/model", providerId, ...fields } as never)).id;
}

async function failureOf(starting: Promise<unknown>): Promise<string> {
  return starting.then(
    () => "It started.",
    (error: Error) => error.message,
  );
}
