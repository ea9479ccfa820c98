import { afterAll, describe, expect, test } from "bun:test";
import { openDatabase, type Sql } from "../../../src/kernel/database/client.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { insertTurnTogether } from "../../../src/sessions/accept/insert.ts";
import type { NewTurn } from "../../../src/sessions/accept/turn-row.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually, type TestTenant } from "../../harness/harness.ts";
import { holdLock } from "../../harness/hold-lock.ts";
import { makeAgent } from "../../harness/seed.ts";

// No worker runs, so whatever was accepted stays as it was written.
const { h, t, agentId } = await useAgent();
const outside = openDatabase({ url: h.databaseUrl, max: 2, applicationName: "parley-test" });
afterAll(() => outside.end());

interface Asked {
  readonly path: string;
  readonly text?: string;
  readonly tenant?: TestTenant;
  readonly more?: object;
}

/** Asks for a turn, and leaves as soon as it is accepted. Returns the status with the error's code, and the turn's id. */
async function ask({ path, text = "Hello", tenant = t, more = {} }: Asked) {
  const message = { id: newId("message"), role: "user", parts: [{ type: "text", text }] };
  const body = JSON.stringify({ message, ...more });
  const headers = { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" };
  const response = await h.app(new Request(`http://parley.test${path}`, { method: "POST", headers, body }));
  const accepted = response.status < 300;
  const code = accepted ? "" : ` ${(await response.json()).error.code}`;
  if (accepted) await response.body?.cancel();
  return { outcome: `${response.status}${code}`, turnId: response.headers.get("x-turn-id") ?? "" };
}

const sessionsPath = (agent = agentId) => `/v1/agents/${agent}/sessions`;

/** A session whose turn has ended. */
async function makeSession(fields: { deleted?: boolean; userId?: string } = {}): Promise<string> {
  const id = newId("session");
  await h.sql`
    insert into sessions (id, tenant_id, agent_id, user_id, visible, deleted_at)
    values (${id}, ${t.id}, ${agentId}, ${fields.userId ?? ""}, true, ${fields.deleted ? new Date() : null})`;
  return id;
}

/** How many transactions wrote these turns. */
async function transactionsOf(turnIds: readonly string[]): Promise<number> {
  const [row] =
    await h.sql`select count(distinct xmin::text)::int as n from turns where id = any(${turnIds as string[]})`;
  return row?.n;
}

describe("turns that are asked for at once", () => {
  test("share statements, each with its session, its job and its own outcome", async () => {
    const other = await h.tenant();
    const otherAgent = await makeAgent(h, other);
    const disabled = await makeAgent(h, t);
    await t.call("POST", `/v1/agents/${disabled}/disable`);
    const [known, busy, deleted] = [
      await makeSession({ userId: "u1" }),
      await makeSession(),
      await makeSession({ deleted: true }),
    ];
    const kinds: [Asked, string][] = [
      [{ path: sessionsPath(), more: { userId: "u2", metadata: { b: 1, a: [2] } } }, "201"],
      [{ path: sessionsPath(otherAgent), tenant: other }, "201"],
      [{ path: sessionsPath(otherAgent) }, "404 not_found"],
      [{ path: sessionsPath(disabled) }, "409 agent_disabled"],
      [{ path: `${sessionsPath()}/${deleted}` }, "404 not_found"],
      [{ path: `${sessionsPath()}/${newId("session")}` }, "404 not_found"],
      [{ path: `${sessionsPath(otherAgent)}/${known}`, tenant: other }, "404 not_found"],
    ];
    const many = Array.from({ length: 10 }, () => kinds).flat();
    const [resumed, ...responses] = await Promise.all([
      ask({ path: `${sessionsPath()}/${known}` }),
      ...many.map(([asked]) => ask(asked)),
      ...Array.from({ length: 12 }, () => ask({ path: `${sessionsPath()}/${busy}` })),
    ]);
    expect(resumed?.outcome).toBe("200");
    expect(responses.slice(0, many.length).map(({ outcome }) => outcome)).toEqual(many.map(([, outcome]) => outcome));
    const onBusy = responses
      .slice(many.length)
      .map(({ outcome }) => outcome)
      .sort();
    expect(onBusy).toEqual(["200", ...Array.from({ length: 11 }, () => "409 session_busy")]);

    const turnIds = [resumed, ...responses].flatMap((accepted) => (accepted?.turnId ? [accepted.turnId] : []));
    expect(turnIds).toHaveLength(22);
    expect(await transactionsOf(turnIds)).toBeLessThan(15);
    const rows = await h.sql`
      select t.id, t.tenant_id, t.user_id, t.status, t.agent_version, t.metadata::text, s.user_id as session_user,
        s.metadata::text as session_metadata, (select count(*)::int from graphile_worker._private_jobs j
          where j.key = t.id and j.payload ->> 'lockKey' = t.session_id and j.payload ->> 'turnId' = t.id) as jobs
      from turns t join sessions s on s.id = t.session_id and s.tenant_id = t.tenant_id and s.agent_id = t.agent_id
      where t.id = any(${turnIds})`;
    expect(rows).toHaveLength(22);
    for (const row of rows)
      expect(row).toMatchObject({ status: "queued", agentVersion: 1, jobs: 1, userId: row.sessionUser });
    expect(
      rows.filter(({ userId }) => userId === "u2").map(({ metadata, sessionMetadata }) => [metadata, sessionMetadata]),
    ).toEqual(Array.from({ length: 10 }, () => ['{"b":1,"a":[2]}', '{"b":1,"a":[2]}']));
    expect(rows.find(({ id }) => id === resumed?.turnId)?.userId).toBe("u1");
    expect(rows.filter(({ tenantId }) => tenantId === other.id)).toHaveLength(10);
  });

  test("get into no session by way of its owner's turn beside them", async () => {
    const other = await h.tenant();
    const [foreign, second] = [await makeAgent(h, other), await makeAgent(h, t)];
    const tryToGetIn = async () => {
      const sessions = await Promise.all(Array.from({ length: 12 }, () => makeSession()));
      const asked = sessions.flatMap((session, index): [Asked, string][] => {
        const owner: [Asked, string] = [{ path: `${sessionsPath()}/${session}` }, "200"];
        const intruders: [Asked, string][] = [
          [{ path: `${sessionsPath(foreign)}/${session}`, tenant: other }, "404 not_found"],
          [{ path: `${sessionsPath(second)}/${session}` }, "404 not_found"],
          [{ path: `${sessionsPath()}/${session}`, tenant: other }, "404 not_found"],
        ];
        return index % 2 === 0 ? [owner, ...intruders] : [...intruders, owner];
      });
      const [, ...responses] = await Promise.all([ask({ path: sessionsPath() }), ...asked.map(([one]) => ask(one))]);
      expect(responses.map(({ outcome }) => outcome)).toEqual(asked.map(([, outcome]) => outcome));
      const rows = await h.sql`select tenant_id, agent_id from turns where session_id = any(${sessions})`;
      expect([...rows]).toEqual(sessions.map(() => ({ tenantId: t.id, agentId })));
      return responses.flatMap(({ turnId }) => (turnId === "" ? [] : [turnId]));
    };
    // The first goes alone; all that come behind it share a statement, unless a busy machine lets them come one by one.
    await eventually(async () => (await transactionsOf(await tryToGetIn())) < 6);
  });

  test("keep every message as it was sent, the large ones too", async () => {
    const texts = ['"\\', "\u{1f600} é\r\n\t", '{},[]"NULL"', "\\u0000 ", "x".repeat(300_000)];
    const many = Array.from({ length: 4 }, () => texts).flat();
    const responses = await Promise.all(many.map((text) => ask({ path: sessionsPath(), text })));
    const rows = await h.sql`select id, input from turns where id = any(${responses.map(({ turnId }) => turnId)})`;
    const byId = new Map(rows.map(({ id, input }) => [id, input.parts[0].text]));
    expect(responses.map(({ turnId }) => byId.get(turnId))).toEqual(many);
    expect(await transactionsOf(responses.map(({ turnId }) => turnId))).toBeLessThan(20);
  });

  test("do not wait for a session that somebody holds", async () => {
    const [held, free] = [await makeSession(), await makeSession()];
    const unlock = await holdLock(outside, (inner) => inner`select 1 from sessions where id = ${held} for update`);
    let returned = 0;
    const askHeld = () => ask({ path: `${sessionsPath()}/${held}` }).finally(() => (returned += 1));
    // The first goes alone, the second shares its statement with others.
    const alone = askHeld();
    const [among, ...others] = [
      askHeld(),
      ...Array.from({ length: 20 }, () => ask({ path: sessionsPath() })),
      ask({ path: `${sessionsPath()}/${free}` }),
    ];
    const outcomes = (await Promise.all(others)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([...Array.from({ length: 20 }, () => "201"), "200"]);
    expect(returned).toBe(0);
    await unlock();
    const both = (await Promise.all([alone, among])).map((accepted) => accepted?.outcome).sort();
    expect(both).toEqual(["200", "409 session_busy"]);
  });

  test("do not wait for a turn that somebody is just moving", async () => {
    const session = await makeSession();
    const { turnId } = await ask({ path: `${sessionsPath()}/${session}` });
    const unlock = await holdLock(outside, (inner) => inner`update turns set status = 'waiting' where id = ${turnId}`);
    const first = ask({ path: sessionsPath() });
    const busy = ask({ path: `${sessionsPath()}/${session}` });
    const others = await Promise.all([first, ...Array.from({ length: 20 }, () => ask({ path: sessionsPath() }))]);
    expect(new Set(others.map(({ outcome }) => outcome))).toEqual(new Set(["201"]));
    await unlock();
    expect((await busy).outcome).toBe("409 session_busy");
  });

  test("are each accepted once when the connections that write them break", async () => {
    const unlock = await holdLock(outside, (inner) => inner`lock table turns in share row exclusive mode`);
    const asked = Promise.all(Array.from({ length: 60 }, () => ask({ path: sessionsPath() })));
    // One that went alone, and a group behind it. Of a long query the server shows the beginning.
    const broken = await eventually(async () => {
      const [row] = await outside`
        select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
        where (select count(*) from pg_stat_activity where ${isWriting(outside)}) > 1 and ${isWriting(outside)}`;
      return row?.ended || null;
    });
    expect(broken).toBeGreaterThan(1);
    await unlock();
    const responses = await asked;
    expect(new Set(responses.map(({ outcome }) => outcome))).toEqual(new Set(["201"]));
    const turnIds = responses.map(({ turnId }) => turnId);
    const [written] = await h.sql`
      select count(*)::int as turns, count(distinct session_id)::int as sessions,
        (select count(*)::int from graphile_worker._private_jobs where key = any(${turnIds})) as jobs
      from turns t where id = any(${turnIds})`;
    expect(written).toEqual({ turns: 60, sessions: 60, jobs: 60 });
  });
});

/** Of a connection: it is about to write turns, and somebody's lock is in its way. */
function isWriting(sql: Sql) {
  return sql`datname = current_database() and wait_event_type = 'Lock' and query like '%/* turn.accept */%'`;
}

test("the statement that writes turns is planned once, not for each group", async () => {
  const sql = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-plans" });
  const turn = (): NewTurn => ({
    turnId: newId("turn"),
    tenantId: t.id,
    agentId,
    sessionId: newId("session"),
    kind: "session",
    newSession: true,
    visible: true,
    pinnedVersion: null,
    trigger: "submit-message",
    input: { id: newId("message"), role: "user", parts: [{ type: "text", text: "Hello" }] },
    assistantMessageId: newId("message"),
    userId: "",
    metadata: {},
    responseFormat: null,
    callerOptions: null,
    requestId: newId("request"),
    traceparent: null,
    writeBefore: new Date(Date.now() + 600_000),
    queuedTurnsMax: 10_000,
    isCounted: false,
    hasBudgets: false,
    recalled: null,
    agentVersion: null,
    keepSeq: null,
    regenerates: null,
    key: null,
    hasPlatformProvider: false,
  });
  for (let round = 0; round < 10; round++)
    for (const size of [1, 2, 3, 4, 9])
      await Promise.all(Array.from({ length: size }, () => insertTurnTogether(sql, turn())));
  const plans = await sql<{ custom: number; generic: number }[]>`
    select custom_plans::int as custom, generic_plans::int as generic from pg_prepared_statements
    where statement like '%/* turn.accept */%' and statement not like '%pg_prepared_statements%'`;
  await sql.end();
  // One text for a turn alone, and one for several.
  expect(plans).toHaveLength(2);
  for (const { custom, generic } of plans) {
    // Postgres plans a statement anew five times before it compares.
    expect(custom).toBeLessThanOrEqual(5);
    expect(generic).toBeGreaterThan(0);
  }
});
