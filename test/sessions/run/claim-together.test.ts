import { afterAll, expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { type IdOf, newId } from "../../../src/kernel/ids.ts";
import { type AskedClaim, type ClaimRefusal, claimTurn } from "../../../src/sessions/run/claim.ts";
import type { ClaimedTurn } from "../../../src/sessions/state/claimed-turn.ts";
import { useAgent } from "../../harness/fixture.ts";
import type { TestTenant } from "../../harness/harness.ts";
import { makeAgent } from "../../harness/seed.ts";

// No worker runs: the tests claim turns themselves.
const { h, t, agentId } = await useAgent();
const lockSql = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-locks" });
const outside = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-outside" });
afterAll(() => Promise.all([lockSql.end(), outside.end()]));
const worker = newId("worker");

/** A queued turn of a new session that has as many messages before it. */
async function queued({ tenant = t as TestTenant, agent = agentId as string, before = 0 } = {}): Promise<AskedClaim> {
  const [sessionId, turnId] = [newId("session"), newId("turn")];
  await h.sql`
    insert into sessions (id, tenant_id, agent_id, visible, message_count, metadata)
    values (${sessionId}, ${tenant.id}, ${agent}, true, ${before}, ${h.sql.json({ of: sessionId })})`;
  await h.sql`
    insert into messages (session_id, seq, id, role, turn_id, content)
    select ${sessionId}, n, 'msg_' || n, 'user', 'turn_0', json_build_object('n', n) from generate_series(1, ${before}) n`;
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id)
    values (${turnId}, ${tenant.id}, ${agent}, ${sessionId}, 'session', 1, ${newId("message")})`;
  return { turnId, lockKey: sessionId, tenantId: tenant.id as IdOf<"tenant">, way: "job" };
}

const claim = (asked: AskedClaim) => claimTurn({ lockSql, pooled: null }, worker, asked);
const outcomeOf = (result: ClaimedTurn | ClaimRefusal) => (typeof result === "string" ? result : "claimed");

/** The number of sessions' locks that the lock connection holds. */
async function locksHeld(): Promise<number> {
  const [row] = await lockSql`
    select count(*)::int as n from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`;
  return row?.n;
}

test("turns that are claimed at once share a statement, each with its own agent and transcript", async () => {
  const other = await h.tenant();
  const otherAgent = await makeAgent(h, other);
  const asked = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      n % 2 === 0 ? queued({ before: n }) : queued({ tenant: other, agent: otherAgent, before: n }),
    ),
  );
  const turns = (await Promise.all(asked.map(claim))) as ClaimedTurn[];
  expect(
    turns.map(({ id, sessionId, tenantId, agent, attempt, history }) => ({
      id,
      sessionId,
      tenantId,
      agent: agent?.id,
      attempt,
      of: history?.metadata,
      messages: history?.messages.map(({ message }) => (message as unknown as { n: number }).n),
    })),
  ).toEqual(
    asked.map(({ turnId, lockKey, tenantId }, n) => ({
      id: turnId as IdOf<"turn">,
      sessionId: lockKey as IdOf<"session">,
      tenantId: tenantId as IdOf<"tenant">,
      agent: n % 2 === 0 ? agentId : otherAgent,
      attempt: 1,
      of: { of: lockKey },
      messages: Array.from({ length: n }, (_, place) => place + 1),
    })),
  );
  const [row] = await h.sql`
    select count(distinct xmin::text)::int as n from turns where id = any(${asked.map(({ turnId }) => turnId)})`;
  expect(row?.n).toBe(1);
  expect(await locksHeld()).toBe(8);
});

test("a turn that cannot be claimed leaves the others alone, and its session unlocked", async () => {
  const before = await locksHeld();
  const limited = await h.tenant();
  const limitedAgent = await makeAgent(h, limited);
  await h.sql`update tenants set running_turns = 5 where id = ${limited.id}`;
  const asked = await Promise.all([
    queued(),
    queued({ tenant: limited, agent: limitedAgent }),
    queued(),
    queued(),
    queued(),
    queued(),
    queued(),
  ]);
  const [, , canceled, locked, held, foreign] = asked as AskedClaim[];
  await h.sql`update turns set cancel_requested_at = now() where id = ${canceled?.turnId ?? ""}`;
  const gone: AskedClaim = { ...(foreign as AskedClaim), tenantId: limited.id as IdOf<"tenant"> };
  asked[5] = gone;
  await outside.begin(async (inner) => {
    await inner`select pg_advisory_xact_lock(hashtextextended(${locked?.lockKey ?? ""}, 0))`;
    await inner`select 1 from turns where id = ${held?.turnId ?? ""} for update`;
    const results = await Promise.all(asked.map(claim));
    expect(results.map(outcomeOf)).toEqual(["claimed", "waits", "gone", "busy", "busy", "waits", "claimed"]);
  });
  expect(await locksHeld()).toBe(before + 2);
  expect(outcomeOf(await claim(held as AskedClaim))).toBe("claimed");
  expect(outcomeOf(await claim(held as AskedClaim))).toBe("gone");
});
