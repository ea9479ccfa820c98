import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { eraseByIndex, idsOf, paced, type SizedId } from "../../kernel/database/pace.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { addJob } from "../../kernel/queue/add-job.ts";
import { announceCancel, cancelActive } from "../cancel/cancel.ts";
import { closeSessions, type EraseScope, eraseGenerations, eraseSessions } from "./rows.ts";

/**
 * What a tenant's `retention_days` deletes: sessions that nobody used for so many days,
 * stateless generations and ended runs of that age. A session is used when a turn of it
 * is accepted, or a decision on one of its calls is made.
 */

/** Tenants that one statement asks whether they have something to delete. */
const tenantsPerScan = 200;
/** Sessions looked at, and erased, together. */
const sessionsPerPage = 200;

/** The job `retention.sweep`: adds a job for each tenant that has something to delete. */
export async function sweepRetention(sql: Sql): Promise<void> {
  for (let after = ""; ; ) {
    const tenants = await sql<{ id: string; due: boolean }[]>`
      select t.id, ${isDue(sql)} as due from tenants t
      where t.id > ${after} and t.retention_days is not null and t.deleted_at is null
      order by t.id limit ${tenantsPerScan}`;
    for (const { id } of tenants.filter(({ due }) => due)) await addJob(sql, "retention.purge", { tenantId: id });
    const last = tenants.at(-1);
    if (last === undefined || tenants.length < tenantsPerScan) return;
    after = last.id;
  }
}

function isDue(sql: Sql) {
  const cutoff = sql`now() - make_interval(days => t.retention_days)`;
  return sql`(
    exists (
      select 1 from agents a cross join lateral (
        select 1 from sessions s where s.tenant_id = t.id and s.agent_id = a.id and s.visible and s.deleted_at is null
          and s.updated_at < ${cutoff} limit 1) s
      where a.tenant_id = t.id)
    or exists (
      select 1 from agents a cross join lateral (
        select 1 from turns g where g.agent_id = a.id and g.session_id is null and g.accepted_at < ${cutoff} limit 1) g
      where a.tenant_id = t.id)
    or exists (
      select 1 from tasks k cross join lateral (
        select 1 from task_runs r where r.task_id = k.id and r.created_at < ${cutoff} and r.finished_at < ${cutoff} limit 1) r
      where k.tenant_id = t.id))`;
}

/** The job `retention.purge`: deletes what a tenant keeps no longer, in bounded statements and jobs. Safe to repeat. */
export function purgeExpired(ctx: Ctx, tenantId: string): Promise<void> {
  const { sql, relay } = ctx;
  return paced(
    async (pace) => {
      const [tenant] = await sql<{ cutoff: Date }[]>`
        select now() - make_interval(days => retention_days) as cutoff from tenants
        where id = ${tenantId} and retention_days is not null and deleted_at is null`;
      if (tenant === undefined) return;
      const scope = { sql, relay, pace };
      const agents = await sql<{ id: string }[]>`select id from agents where tenant_id = ${tenantId} order by id`;
      for (const { id } of agents) {
        await eraseUnused(ctx, scope, { tenantId, agentId: id, cutoff: tenant.cutoff });
        await eraseGenerations(scope, id, tenant.cutoff);
      }
      await eraseRuns(scope, tenantId, tenant.cutoff);
    },
    () => addJob(sql, "retention.purge", { tenantId }, { keySuffix: ":on" }),
  );
}

/** The sessions of one agent that were not used since. */
interface Unused {
  readonly tenantId: string;
  readonly agentId: string;
  readonly cutoff: Date;
}

async function eraseUnused(ctx: Ctx, scope: EraseScope, unused: Unused): Promise<void> {
  let after: { at: string; id: string } | null = null;
  for (;;) {
    scope.pace.step();
    const page: OldSession[] = await oldSessions(scope.sql, unused, after);
    const ids = page.filter(({ used }) => !used).map(({ id }) => id);
    for (const id of page.flatMap(({ used, waits, id }) => (!used && waits ? [id] : [])))
      await cancelWaiting(ctx, id, unused.cutoff);
    await eraseSessions(scope, await closeSessions(scope.sql, ids, unused.cutoff));
    const last = page.at(-1);
    if (last === undefined || page.length < sessionsPerPage) return;
    after = last;
  }
}

interface OldSession {
  readonly id: string;
  /** When it was updated, as text with microseconds. */
  readonly at: string;
  /** A turn of it runs, or it was used since although it was not updated. */
  readonly used: boolean;
  readonly waits: boolean;
}

function oldSessions(
  sql: Sql,
  { tenantId, agentId, cutoff }: Unused,
  after: { at: string; id: string } | null,
): Promise<OldSession[]> {
  const next = after === null ? sql`` : sql`and (s.updated_at, s.id) > (${after.at}::timestamptz, ${after.id})`;
  return sql<OldSession[]>`
    select s.id, s.updated_at::text as at,
      exists (select 1 from turns t where t.session_id = s.id and t.status in ('queued', 'running'))
        or exists (select 1 from turns t where t.session_id = s.id and t.accepted_at >= ${cutoff})
        or exists (select 1 from approvals p where p.session_id = s.id and p.decided_at >= ${cutoff})
        or exists (select 1 from client_calls c where c.session_id = s.id and c.settled_at >= ${cutoff}) as used,
      exists (select 1 from turns t where t.session_id = s.id and t.status = 'waiting') as waits
    from sessions s
    where s.tenant_id = ${tenantId} and s.agent_id = ${agentId} and s.visible and s.deleted_at is null
      and s.updated_at < ${cutoff} ${next}
    order by s.updated_at, s.id limit ${sessionsPerPage}`;
}

/** Ends a turn as canceled on which nobody decided for longer than the tenant keeps sessions. */
async function cancelWaiting(ctx: Ctx, sessionId: string, cutoff: Date): Promise<void> {
  const canceled = await tx(ctx.sql, async (inner) => {
    // The session first, then the turn: the order in which turns are accepted and ended. A decision locks the turn.
    await inner`select 1 from sessions where id = ${sessionId} for no key update`;
    const [turn] = await inner<{ id: string }[]>`
      select id from turns t where session_id = ${sessionId} and status = 'waiting' for no key update`;
    const [settled] = await inner`
      select 1 from approvals where session_id = ${sessionId} and decided_at >= ${cutoff}
      union all select 1 from client_calls where session_id = ${sessionId} and settled_at >= ${cutoff} limit 1`;
    return turn === undefined || settled !== undefined
      ? null
      : cancelActive(inner, { turn: { sessionId, turnId: turn.id } });
  });
  if (canceled !== null) announceCancel(ctx, canceled);
}

function eraseRuns(scope: EraseScope, tenantId: string, cutoff: Date): Promise<void> {
  const { sql } = scope;
  return eraseByIndex(
    scope,
    (inner, rows) => inner<SizedId[]>`
      select r.id, pg_column_size(r.prompt) + pg_column_size(r.metadata) as bytes
      from tasks k join task_runs r on r.task_id = k.id
      where k.tenant_id = ${tenantId} and r.created_at < ${cutoff} and r.finished_at < ${cutoff} limit ${rows}`,
    (rows) => sql`delete from task_runs where id = any(${idsOf(rows)}) and finished_at is not null`,
  );
}
