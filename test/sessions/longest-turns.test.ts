import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import type { Sql } from "../../src/kernel/database/client.ts";
import { listLongest } from "../../src/sessions/state/longest-turns.ts";
import type { TurnListQuery } from "../../src/sessions/state/turn-list.ts";
import { useAgent } from "../harness/fixture.ts";
import { withPatientClient } from "../harness/patient-client.ts";
import { mostRead, planOf } from "../harness/plans.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

// No worker: it would end what only seems to run.
const { h, t, agentId } = await useAgent();
const rareAgent = await makeAgent(h, t);
const turns = 100_000;
const days = 20;
const limit = 50;
const startMs = Date.UTC(2026, 0, 1);
const dayMs = 24 * 60 * 60 * 1000;

interface Row {
  readonly id: string;
  readonly agentId: string;
  readonly userId: string;
  readonly kind: string;
  readonly status: string;
  readonly code: string | null;
  readonly at: number;
  readonly runMs: number;
}
let rows: readonly Row[] = [];

beforeAll(() =>
  withPatientClient(h.databaseUrl, async (sql) => {
    await sql`
      insert into turns (id, tenant_id, agent_id, kind, status, user_id, agent_version, assistant_message_id, accepted_at, finished_at, run_ms, error)
      select 'turn_' || lpad(n::text, 24, '0'), ${t.id}, case when n % 1000 = 3 then ${rareAgent} else ${agentId} end,
        case when n % 100 = 5 then 'task' else 'session' end,
        case when n = 7 then 'running' when n % 50 = 1 then 'failed' when n % 50 = 2 then 'canceled' else 'succeeded' end,
        'user-' || n % 500, 1, 'msg_' || n, to_timestamp(${startMs / 1000}) + n * interval '17.28 seconds', now(),
        (n::bigint * 7919) % 50021,
        case when n % 50 = 1 then json_build_object('code', case when n % 5000 = 1 then 'timed_out' else 'provider_error' end, 'message', 'No.') end
      from generate_series(0, ${turns - 1}) n`;
    await sql`analyze turns`;
    rows = await sql<Row[]>`
      select id, agent_id as "agentId", user_id as "userId", kind, status, error ->> 'code' as code,
        (extract(epoch from accepted_at) * 1000)::float8 as at, run_ms::float8 as "runMs" from turns`;
  }),
);

type Filter = Partial<Record<"status" | "kind" | "agentId" | "userId" | "error" | "from" | "to", string>>;

const day = (number: number) => new Date(startMs + number * dayMs).toISOString();

function expected({ status, kind, agentId: agent, userId, error, from, to }: Filter): string[] {
  const [first, last] = [Date.parse(from ?? ""), Date.parse(to ?? "")];
  return rows
    .filter((row) => row.at >= first && row.at < last)
    .filter((row) => status === undefined || row.status === status)
    .filter((row) => kind === undefined || row.kind === kind)
    .filter((row) => agent === undefined || row.agentId === agent)
    .filter((row) => userId === undefined || row.userId === userId)
    .filter((row) => error === undefined || row.code === error)
    .toSorted((one, other) => other.runMs - one.runMs || (one.id < other.id ? 1 : -1))
    .map(({ id }) => id);
}

interface Listed {
  readonly data: readonly { readonly id: string; readonly runMs: number }[];
  readonly nextCursor: string | null;
}

async function ask(query: Record<string, string>, form: "a" | "b" = "b") {
  const response = await t.call("GET", `/v1/turns?${new URLSearchParams({ sort: "longest", ...query })}`, { form });
  return { ...response, page: response.body as Listed };
}

describe("sort=longest", () => {
  const all = { from: day(0), to: day(days) };
  test.each<Filter>([
    all,
    { from: day(2), to: day(3) },
    { from: new Date(startMs + 5.4 * dayMs).toISOString(), to: new Date(startMs + 6.7 * dayMs).toISOString() },
    { from: day(30), to: day(31) },
    { ...all, status: "failed" },
    { ...all, status: "running" },
    { ...all, kind: "task" },
    { ...all, agentId: rareAgent },
    { ...all, userId: "user-7" },
    { ...all, error: "timed_out" },
    { ...all, error: "provider_error", kind: "task" },
    { ...all, error: "no_such_code" },
    { ...all, error: "timed_out", status: "canceled" },
  ])("of %j has the longest first, page by page", async (filter) => {
    const wanted = expected(filter).slice(0, 350);
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const { page } = await ask({ ...filter, limit: "100", ...(cursor !== null && { cursor }) });
      found.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null && found.length < 350);
    // The one that runs is the longest: it has run since it was claimed.
    expect(found.slice(0, 350)).toEqual(wanted);
  });

  test("is the same in form A", async () => {
    const [a, b] = await Promise.all([ask(all, "a"), ask(all, "b")]);
    expect(a.body.data).toEqual(b.body.data);
    expect(b.page.data[0]?.runMs).toBe(50_020);
  });

  test("without a range is of the last day", async () => {
    expect((await ask({})).body.data).toEqual([]);
    const [young, old] = ["turn_young0000000000000000000", "turn_old000000000000000000000"];
    const at = (id: string, hours: number) => h.sql`
      insert into turns (id, tenant_id, agent_id, kind, status, agent_version, assistant_message_id, accepted_at)
      values (${id}, ${t.id}, ${agentId}, 'session', 'succeeded', 1, ${id}, now() - make_interval(hours => ${hours}))`;
    await at(young, 23);
    await at(old, 25);
    const idsOf = async (query: Record<string, string>) => (await ask(query)).page.data.map(({ id }) => id);
    expect(await idsOf({})).toEqual([young]);
    expect(await idsOf({ to: new Date(Date.now() - dayMs).toISOString() })).toEqual([old]);
  });

  test("takes 31 days at most, and cursors of its own", async () => {
    expect((await ask({ from: day(0), to: day(31) })).status).toBe(200);
    const tooLong = await ask({ from: day(0), to: "2026-02-01T00:00:00.001Z" });
    expect(statusAndCode(tooLong)).toEqual([400, "validation_failed"]);
    expect(JSON.stringify(tooLong.body)).toContain("from");
    expect(statusAndCode(await ask({ sort: "shortest" }))).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await ask({ error: "no such" }))).toEqual([400, "validation_failed"]);
    const { page } = await ask({ ...all, limit: "1" });
    const cursor = page.nextCursor ?? "";
    expect(statusAndCode(await ask({ ...all, limit: "1", cursor, status: "failed" }))).toEqual([400, "invalid_cursor"]);
    const newest = await t.call("GET", `/v1/turns?${new URLSearchParams({ ...all, cursor })}`);
    expect(statusAndCode(newest)).toEqual([400, "invalid_cursor"]);
    expect((await ask({ to: "0001-01-01T00:00:00Z" })).body.data).toEqual([]);
  });
});

describe("of 100,000 turns", () => {
  const sent: { text: string; parameters: unknown[] }[] = [];
  const watched = postgres(h.databaseUrl, {
    max: 1,
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel } },
    debug: (_connection, text, parameters) => void sent.push({ text, parameters }),
  }) as unknown as Sql;
  afterAll(() => watched.end());
  const none = { status: undefined, kind: undefined, agentId: undefined, sessionId: undefined, userId: undefined };
  const range = (from: string, to: string) => ({ from: new Date(from), to: new Date(to) });
  const all = range(day(0), day(days));

  test.each<[Partial<TurnListQuery>, number]>([
    [all, (limit + 1) * days],
    [range(day(3), day(4)), limit + 1],
    [range(new Date(startMs + 3.9 * dayMs).toISOString(), day(4)), limit + 1],
    [{ ...all, kind: "session" }, (limit + 1) * days * 2],
    [{ ...all, error: "timed_out" }, 20],
    [{ ...all, agentId: rareAgent }, 200],
    [{ ...all, userId: "user-7" }, 400],
    [{ ...all, agentIds: [rareAgent, agentId] as never }, (limit + 1) * days],
  ])("a page of %p reads %p of them at most", async (filter, most) => {
    await watched`select 1`;
    sent.length = 0;
    await listLongest(watched, t.id, { ...none, from: undefined, to: undefined, cursor: undefined, limit, ...filter });
    const plan = await planOf(
      watched,
      sent.findLast(({ text }) => text.includes("turn.longest")),
    );
    expect(mostRead(plan, "turns")).toBeLessThanOrEqual(most);
  });
});
