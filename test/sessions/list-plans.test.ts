import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { listSessionsWithMarks } from "../../src/console-server/session-list.ts";
import type { Sql } from "../../src/kernel/database/client.ts";
import { listLatest } from "../../src/sessions/state/store.ts";
import { listTurns, type TurnListQuery } from "../../src/sessions/state/turn-list.ts";
import { useAgent } from "../harness/fixture.ts";
import { withPatientClient } from "../harness/patient-client.ts";
import { mostRead, planOf } from "../harness/plans.ts";
import { makeAgent } from "../harness/seed.ts";

const { h, t, agentId } = await useAgent();
const rareAgent = await makeAgent(h, t);
/** So many turns are there, and a page may read so many: some scans of a page's rows each, whatever else is there. */
const turns = 30_000;
const readMax = 1_500;
const limit = 50;

beforeAll(() => withPatientClient(h.databaseUrl, seed));

async function seed(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into sessions (id, tenant_id, agent_id, visible, message_count)
    select 'ss_' || lpad(s::text, 24, '0'), ${t.id}, ${agentId}, true, 2 from generate_series(0, 4999) s`;
  // The rare ones are the oldest, so that a scan of the newest meets them last.
  await sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, status, user_id, agent_version, assistant_message_id, accepted_at, finished_at, error)
    select 'turn_' || lpad(n::text, 24, '0'), ${t.id}, case when n < 20 then ${rareAgent} else ${agentId} end,
      'ss_' || lpad((n % 100)::text, 24, '0'), case when n between 20 and 40 then 'chat' else 'session' end,
      case when n between 40 and 60 then 'canceled' when n % 100 = 0 then 'failed' else 'succeeded' end,
      case when n between 60 and 80 then 'rare' when n between 80 and 100 then '' else 'user-' || n % 50 end, 1, 'msg_' || n,
      '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute', now(),
      case when n % 100 = 0 then json_build_object('code', case when n % 5000 = 0 then 'timed_out' else 'provider_error' end) end
    from generate_series(0, ${turns - 1}) n`;
  await sql`analyze turns`;
  await sql`analyze sessions`;
}

/** The statements that were sent on a connection of their own. */
const sent: { text: string; parameters: unknown[] }[] = [];
const watched = postgres(h.databaseUrl, {
  max: 1,
  onnotice: () => {},
  transform: { column: { from: postgres.toCamel } },
  debug: (_connection, text, parameters) => void sent.push({ text, parameters }),
}) as unknown as Sql;
afterAll(() => watched.end());

/** Asks, and returns what the last statement read of a table. */
async function readBy(of: "turns" | "sessions", ask: () => Promise<{ data: unknown[] }>, begins = /^\s*select/) {
  await watched`select 1`;
  sent.length = 0;
  const { data } = await ask();
  const plan = await planOf(
    watched,
    sent.findLast((one) => begins.test(one.text)),
  );
  return { rows: data.length, read: mostRead(plan, of) };
}

function readOf(filter: Partial<TurnListQuery>) {
  const none = { status: undefined, kind: undefined, agentId: undefined, sessionId: undefined, userId: undefined };
  const asked = { ...none, from: undefined, to: undefined, cursor: undefined, limit, ...filter };
  return readBy("turns", () => listTurns(watched, t.id, asked));
}

const values: readonly Partial<TurnListQuery>[] = [
  { status: "succeeded" },
  { status: "failed" },
  { status: "canceled" },
  { status: "waiting" },
  { status: "queued" },
  { kind: "session" },
  { kind: "chat" },
  { kind: "task" },
  { agentId },
  { agentId: rareAgent },
  { userId: "" },
  { userId: "user-7" },
  { userId: "rare" },
  { sessionId: `ss_${"7".padStart(24, "0")}` },
  { error: "provider_error" },
  { error: "timed_out" },
  { from: new Date("2026-01-05T00:00:00Z"), to: new Date("2026-01-06T00:00:00Z") },
];
const pairs = values.flatMap((one, place) =>
  values.slice(place + 1).flatMap((other) => {
    const both = { ...one, ...other };
    return Object.keys(both).length === Object.keys(one).length + Object.keys(other).length ? [both] : [];
  }),
);

test("a page by any filter, alone or with another one, reads no more where there are many turns", async () => {
  // Sorting by id within a moment reads one row beyond the page.
  expect(await readOf({})).toEqual({ rows: limit, read: limit + 2 });
  for (const filter of [...values, ...pairs]) {
    const { read } = await readOf(filter);
    expect({ filter, read, tooMany: read > readMax }).toEqual({ filter, read, tooMany: false });
  }
});

test.each([undefined, "", "user-7"])(
  "each agent's latest session, of user %p, reads no other agent's",
  async (userId) => {
    const filter = { tenantId: t.id, userId, cursor: undefined, limit };
    const { rows, read } = await readBy("sessions", () => listLatest(watched, true, filter));
    expect([rows, read]).toEqual([userId === undefined || userId === "" ? 1 : 0, expect.any(Number)]);
    expect(read).toBeLessThanOrEqual(2);
  },
);

test.each([{}, { agentId }, { agentId: rareAgent }, { userId: "" }, { userId: "user-7" }])(
  "the console's page of sessions by %p reads no more than a page of each agent, also where most hold no message",
  async (filter) => {
    await watched`insert into sessions (id, tenant_id, agent_id, visible)
      select 'ss_' || lpad(s::text, 24, '9'), ${t.id}, ${agentId}, true from generate_series(1, 5000) s on conflict do nothing`;
    await watched`analyze sessions`;
    const none = {
      agentIds: null,
      agentId: undefined,
      userId: undefined,
      status: undefined,
      from: undefined,
      to: undefined,
    };
    const asked = { ...none, cursor: undefined, limit, ...filter };
    const { rows, read } = await readBy(
      "sessions",
      () => listSessionsWithMarks(watched, t.id as never, asked),
      /^\s*with page/,
    );
    expect(rows).toBe(
      "agentId" in filter && filter.agentId === rareAgent ? 0 : "userId" in filter && filter.userId !== "" ? 0 : limit,
    );
    expect(read).toBeLessThanOrEqual(2 * (limit + 1));
  },
);
