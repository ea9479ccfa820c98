import { afterAll, expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { type IdOf, newId } from "../../../src/kernel/ids.ts";
import type { JobPayloads } from "../../../src/kernel/queue/catalogue.ts";
import { commitOutcome } from "../../../src/sessions/end/commit.ts";
import { outcomeOf } from "../../../src/sessions/end/outcome.ts";
import { purgeSession } from "../../../src/sessions/erase/session.ts";
import { claimTurn } from "../../../src/sessions/run/claim.ts";
import type { ClaimedTurn } from "../../../src/sessions/state/claimed-turn.ts";
import { noUsage, type TurnOutcome } from "../../../src/sessions/state/turn-end.ts";
import { afterTurn } from "../../../workers/after-turn.ts";
import { useAgent } from "../../harness/fixture.ts";
import type { TestTenant } from "../../harness/harness.ts";
import { makeAgent } from "../../harness/seed.ts";

// No worker runs: the tests claim turns themselves, and end them.
const { h, t, agentId } = await useAgent();
const lockSql = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-locks" });
const outside = openDatabase({ url: h.databaseUrl, max: 2, applicationName: "parley-test-outside" });
afterAll(() => Promise.all([lockSql.end(), outside.end()]));

const worker = newId("worker");
const message = (role: "user" | "assistant", text: string) => ({
  id: newId("message"),
  role,
  parts: [{ type: "text" as const, text }],
});

/** A claimed turn of a new session. */
async function claimed(tenant: TestTenant = t, agent: string = agentId): Promise<ClaimedTurn> {
  const [sessionId, turnId] = [newId("session"), newId("turn")];
  await h.sql`
    insert into sessions (id, tenant_id, agent_id, visible) values (${sessionId}, ${tenant.id}, ${agent}, true)`;
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, input, assistant_message_id)
    values (${turnId}, ${tenant.id}, ${agent}, ${sessionId}, 'session', 1, ${h.sql.json(message("user", "Hi"))}, ${newId("message")})`;
  const turn = await claimTurn({ lockSql, pooled: null }, worker, {
    turnId,
    lockKey: sessionId,
    tenantId: tenant.id as IdOf<"tenant">,
    way: "job",
  });
  if (typeof turn === "string") throw new Error(turn);
  return turn;
}

/** The outcome of a turn that answered. */
function answered(text: string, fields: Partial<TurnOutcome> = {}): TurnOutcome {
  const usage = { ...noUsage, provider: "p", model: `m ${text}`, inputTokens: 3, outputTokens: 4, modelCalls: 1 };
  const reached = { message: message("assistant", text), lastChunk: { type: "finish", text } };
  const turn = { sessionId: "s", continuationId: null, keepSeq: null, input: message("user", `Q "${text}" \\`) };
  return {
    ...outcomeOf(turn, { why: "finished", reached, usage }),
    preview: text,
    relayEvents: text.length,
    record: { steps: [], firstTextAt: new Date("2026-01-02T03:04:05.678Z"), toolsLeftOut: [] },
    ...fields,
  };
}

const end = (turn: ClaimedTurn, outcome: TurnOutcome) => commitOutcome(h.sql, turn, outcome);

/** Keeps the next statement that ends turns waiting until it is let go, so that what ends meanwhile shares the one after it. */
async function holdUp() {
  const held = await claimed();
  const [locked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = outside.begin(async (inner) => {
    await inner`select 1 from sessions where id = ${held.sessionId} for update`;
    locked.resolve();
    await done.promise;
  });
  await locked.promise;
  const first = end(held, answered("held up"));
  return {
    async release() {
      done.resolve();
      await holding;
      expect(await first).toBe(true);
    },
  };
}

/** How many transactions ended these turns. */
async function transactionsOf(turns: readonly ClaimedTurn[]): Promise<number> {
  const ids = turns.map(({ id }) => id);
  const [row] = await h.sql`select count(distinct xmin::text)::int as n from turns where id = any(${ids})`;
  return row?.n;
}

test("turns that end at once share a statement, each with its own answer, usage and credit", async () => {
  const poor = await h.tenant();
  const poorAgent = await makeAgent(h, poor);
  await h.sql`update tenants set usage_credit = 100 where id = ${poor.id}`;
  await h.sql`
    insert into webhooks (id, tenant_id, url, events, sealed_secret)
    values ('wh_1', ${t.id}, 'https://hooks.test', '{turn.ended}', '\\x00')`;
  const turns = await Promise.all(
    Array.from({ length: 12 }, (_, n) => (n % 3 === 0 ? claimed(poor, poorAgent) : claimed())),
  );
  const hold = await holdUp();
  const texts = turns.map((_, n) => `answer ${n} 'ä' {"x": [1, null]}, NULL`);
  const ends = turns.map((turn, n) => end(turn, answered(texts[n] as string)));
  expect(await Promise.all(ends)).toEqual(turns.map(() => true));
  await hold.release();
  expect(await transactionsOf(turns)).toBeLessThan(4);
  for (const [n, turn] of turns.entries()) {
    const text = texts[n] as string;
    const [row] = await h.sql`
      select t.status, t.error, t.answer, t.relay_events, t.last_chunk, t.input_tokens, t.output_tokens, t.model_calls,
        t.usage_estimated, t.first_text_at, t.finished_at is not null as over, s.message_count, s.last_message_preview,
        (select json_agg(json_build_object('seq', seq, 'role', role, 'turn', turn_id, 'content', content) order by seq) from messages where session_id = s.id) as messages,
        (select json_agg(json_build_object('tokens', input_tokens + output_tokens, 'provider', provider, 'model', model)) from usage where turn_id = t.id) as used
      from turns t join sessions s on s.id = t.session_id where t.id = ${turn.id}`;
    expect(row).toMatchObject({
      status: "succeeded",
      error: null,
      answer: null,
      relayEvents: text.length,
      lastChunk: { type: "finish", text },
      inputTokens: 3,
      outputTokens: 4,
      modelCalls: 1,
      usageEstimated: false,
      firstTextAt: new Date("2026-01-02T03:04:05.678Z"),
      over: true,
      messageCount: 2,
      lastMessagePreview: text,
      messages: [
        { seq: 1, role: "user", turn: turn.id, content: { parts: [{ text: `Q "${text}" \\` }] } },
        { seq: 2, role: "assistant", turn: turn.id, content: { parts: [{ text }] } },
      ],
      used: [{ tokens: 7, provider: "p", model: `m ${text}` }],
    });
  }
  // Of the tenant without a webhook nobody is told.
  for (const turn of turns) expect(await jobsAfter(turn)).toHaveLength(turn.tenantId === t.id ? 1 : 0);
  const [left] = await h.sql`select usage_credit from tenants where id = ${poor.id}`;
  expect(left?.usageCredit).toBe(100 - 4 * 7);
  await h.sql`delete from webhooks`;
});

/** A tenant of its own, with an agent. */
async function another() {
  const tenant = await h.tenant();
  return { tenant, agent: await makeAgent(h, tenant) };
}

/** The jobs that tell others of a turn's end. */
async function jobsAfter({ id }: ClaimedTurn) {
  const jobs = await h.sql<{ payload: JobPayloads["turn.after"] }[]>`
    select j.payload from graphile_worker._private_jobs j join graphile_worker._private_tasks k on k.id = j.task_id
    where k.identifier = 'turn.after' and j.payload ->> 'turnId' = ${id}`;
  return jobs.map(({ payload }) => payload);
}

/** Runs these jobs, each of them twice, as the queue does where the first worker died before it said that it was done. */
async function runJobsAfter(turn: ClaimedTurn): Promise<void> {
  for (const payload of await jobsAfter(turn)) {
    await afterTurn(h.ctx, payload);
    await afterTurn(h.ctx, payload);
  }
}

test("who is to be told since the claim is told of the end once, whether it comes alone or with others", async () => {
  for (const others of [0, 2]) {
    const [told, billed] = [await another(), await another()];
    const withWebhook = await claimed(told.tenant, told.agent);
    const withBilling = await claimed(billed.tenant, billed.agent);
    const turns = [withWebhook, withBilling, ...(await Promise.all(Array.from({ length: others }, () => claimed())))];
    await h.sql`
      insert into webhooks (id, tenant_id, url, events, sealed_secret)
      values (${`wh_${told.tenant.id}`}, ${told.tenant.id}, 'https://hooks.test', '{turn.ended}', '\\x00')`;
    await h.sql`update tenants set monetization = true where id = ${billed.tenant.id}`;
    await h.sql`
      insert into merchant_connections (id, tenant_id, provider, environment, merchant_account_id, sealed_credential, key_fragment, guard)
      values (${`mc_${billed.tenant.id}`}, ${billed.tenant.id}, 'billing_a', 'sandbox', ${billed.tenant.id}, '\\x00', 'abcd', '{}')`;
    const ends = turns.map((turn) => end(turn, answered("said")));
    expect(await Promise.all(ends)).toEqual(turns.map(() => true));
    for (const turn of turns) await runJobsAfter(turn);
    expect(await eventsOf(withWebhook)).toEqual({ deliveries: 1, bills: 0, jobs: 1, messages: 2 });
    expect(await eventsOf(withBilling)).toEqual({ deliveries: 0, bills: 1, jobs: 0, messages: 2 });
    const [later] = [await claimed(told.tenant, told.agent)];
    expect(await end(later, answered("later"))).toBe(true);
    await runJobsAfter(later);
    expect(await eventsOf(later)).toMatchObject({ deliveries: 1, messages: 2 });
  }
});

for (const [event, jobs] of [
  ["mcp_connection.changed", 0],
  ["audit.recorded", 0],
  ["turn.ended", 1],
  ["budget.warned", 1],
  ["budget.reached", 1],
] as const)
  test(`a tenant whose webhook is for ${event} has ${jobs} jobs after a turn`, async () => {
    const { tenant, agent } = await another();
    await h.sql`
      insert into webhooks (id, tenant_id, url, events, sealed_secret)
      values (${`wh_${tenant.id}`}, ${tenant.id}, 'https://hooks.test', ${[event]}, '\\x00')`;
    const turn = await claimed(tenant, agent);
    expect(await end(turn, answered("said"))).toBe(true);
    expect(await jobsAfter(turn)).toHaveLength(jobs);
  });

/** What the end of a turn left for webhooks and billing, and in the transcript. */
async function eventsOf({ id, tenantId }: ClaimedTurn) {
  const [row] = await h.sql`
    select (select count(*)::int from webhook_deliveries where ids ->> 'turnId' = ${id}) as deliveries,
      (select count(*)::int from merchant_events where turn_id = ${id}) as bills,
      (select count(*)::int from messages where turn_id = ${id}) as messages,
      (select count(*)::int from graphile_worker._private_jobs where payload ->> 'webhookId' = ${`wh_${tenantId}`}) as jobs`;
  return { ...row };
}

test("a turn whose claim is gone, whose end was asked for, whose session is held or whose answer cannot be stored leaves the others alone", async () => {
  const [stale, canceled, held, bad, ...good] = (await Promise.all(Array.from({ length: 9 }, () => claimed()))) as [
    ClaimedTurn,
    ClaimedTurn,
    ClaimedTurn,
    ClaimedTurn,
    ...ClaimedTurn[],
  ];
  await h.sql`update turns set attempt = 2 where id = ${stale.id}`;
  await h.sql`update turns set cancel_requested_at = now() where id = ${canceled.id}`;
  const hold = await holdUp();
  let ended = false;
  let heldEnd: Promise<boolean> = Promise.resolve(false);
  await outside.begin(async (inner) => {
    await inner`select 1 from sessions where id = ${held.sessionId} for update`;
    const others = [
      end(stale, answered("stale")),
      end(canceled, answered("canceled")),
      end(bad, answered("bad", { preview: "\0" })).catch(() => "refused"),
      ...good.map((turn) => end(turn, answered("good"))),
    ];
    heldEnd = end(held, answered("held"));
    void heldEnd.then(() => {
      ended = true;
    });
    expect(await Promise.all(others)).toEqual([false, false, "refused", ...good.map(() => true)]);
    expect(ended).toBe(false);
  });
  expect(await heldEnd).toBe(true);
  await hold.release();
  const rows = await h.sql`
    select id, status from turns where id = any(${[stale, canceled, bad].map(({ id }) => id)}) and status <> 'running'`;
  expect([...rows]).toEqual([]);
  const [stored] =
    await h.sql`select count(*)::int as n from messages where turn_id = any(${[stale, canceled, bad].map(({ id }) => id)})`;
  expect(stored?.n).toBe(0);
});

test("the first turn in the line of a session starts when its turn ends with others", async () => {
  const turns = await Promise.all(Array.from({ length: 3 }, () => claimed()));
  const [withLine, ...others] = turns as [ClaimedTurn, ...ClaimedTurn[]];
  await h.sql`update sessions set line = 1 where id = ${withLine.sessionId}`;
  const hold = await holdUp();
  await Promise.all(turns.map((turn) => end(turn, answered("done"))));
  await hold.release();
  const jobs = await h.sql<{ payload: { sessionId: string } }[]>`
    select j.payload from graphile_worker._private_jobs j join graphile_worker._private_tasks k on k.id = j.task_id
    where k.identifier = 'session.next'`;
  expect(jobs.map(({ payload }) => payload.sessionId)).toEqual([withLine.sessionId as string]);
  expect(others).toHaveLength(2);
});

test("a session that is erased before the job has told of a turn's end leaves its event and its usage for billing", async () => {
  const { tenant, agent } = await another();
  const turn = await claimed(tenant, agent);
  const sessionId = turn.sessionId as string;
  await h.sql`
    insert into webhooks (id, tenant_id, url, events, sealed_secret)
    values (${`wh_${tenant.id}`}, ${tenant.id}, 'https://hooks.test', '{turn.ended}', '\\x00')`;
  await h.sql`update tenants set monetization = true where id = ${tenant.id}`;
  await h.sql`
    insert into merchant_connections (id, tenant_id, provider, environment, merchant_account_id, sealed_credential, key_fragment, guard)
    values (${`mc_${tenant.id}`}, ${tenant.id}, 'billing_a', 'sandbox', ${tenant.id}, '\\x00', 'abcd', '{}')`;
  expect(await end(turn, answered("said"))).toBe(true);
  await h.sql`update sessions set deleted_at = now() where id = ${sessionId}`;
  await purgeSession(h.ctx, { sessionId, tenantId: tenant.id });
  expect(await h.sql`select 1 from turns where id = ${turn.id}`).toHaveLength(0);
  const told = { deliveries: 1, bills: 1, jobs: 1, messages: 0 };
  expect(await eventsOf(turn)).toEqual(told);
  await runJobsAfter(turn);
  expect(await eventsOf(turn)).toEqual(told);
});

test("a connection plans the statement once, for one end as for several", async () => {
  const one = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-plans" });
  for (const group of [...Array.from({ length: 12 }, () => 1), 3, 2, 4, 1, 3]) {
    const turns = await Promise.all(Array.from({ length: group }, () => claimed()));
    expect(await Promise.all(turns.map((turn) => commitOutcome(one, turn, answered("x"))))).toEqual(
      turns.map(() => true),
    );
  }
  const [plans] = await one<{ genericPlans: number; customPlans: number }[]>`
    select generic_plans::int, custom_plans::int from pg_prepared_statements
    where statement like '%/* turn.end */%' and statement not like '%pg_prepared_statements%'`;
  await one.end();
  // Postgres makes five plans for their parameters before it trusts one for any.
  expect(plans?.customPlans).toBeLessThanOrEqual(5);
  expect(plans?.genericPlans).toBeGreaterThanOrEqual(10);
});
