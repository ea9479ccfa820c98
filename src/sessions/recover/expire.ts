import { recordAudit } from "../../kernel/audit/record.ts";
import { systemActor } from "../../kernel/auth/actor.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { reaperActions } from "../../kernel/telemetry/metrics.ts";
import { type ApprovalRow, decisionOf } from "../pause/approvals.ts";
import type { ClientCallRow } from "../pause/client-calls.ts";
import { applySettled, type Pause } from "../pause/pause.ts";
import { expireCallsMove, expiredReason, expireMove } from "../state/continuation.ts";

/** One step ends at most so many pauses, and at most so many of a tenant. */
const stepRows = 200;
const stepRowsOfTenant = 50;
/** A sweep begins no further step after this long; the next sweep goes on. */
const sweepMs = 30_000;

const byTheSystem = { actor: systemActor, action: "approval.expire", requestId: null } as const;

/**
 * The job `pauses.sweep`: denies the calls that no person decided within the tenant's
 * `pause_hours`, ends those of client tools without a result with an error, and lets their turns
 * go on.
 */
export async function expirePauses({ sql, log }: Ctx): Promise<void> {
  const goesUntil = Date.now() + sweepMs;
  for (;;) {
    const found = await findExpired(sql);
    let ended = 0;
    for (const pause of found) if (await expirePause(sql, pause)) ended += 1;
    if (ended > 0) {
      reaperActions.inc({ action: "pause_expired" }, ended);
      log.info({ pauses: ended }, "pauses that nobody ended in time were ended");
    }
    // What is found again and does not move is being decided, or canceled, by somebody else.
    if (ended === 0 || Date.now() > goesUntil) return;
  }
}

/** Returns pauses that are over, the oldest of each tenant; those that nobody can end yet keep none from the others. */
function findExpired(sql: AnySql): PromiseLike<Pause[]> {
  return sql<Pause[]>`
    select /* pause.find_expired */ distinct p.* from (${expiredIn(sql, sql`approvals`)} union all ${expiredIn(sql, sql`client_calls`)}) p`;
}

function expiredIn(sql: AnySql, table: ReturnType<AnySql>) {
  return sql`(
      select expired.* from tenants t cross join lateral (
        select a.session_id, a.turn_id, a.continuation_id, a.assistant_message_id from ${table} a join turns w on w.id = a.turn_id
        where a.tenant_id = t.id and a.status = 'pending' and a.created_at < now() - make_interval(hours => t.pause_hours)
          and w.status = 'waiting' and w.continuation_id = a.continuation_id and w.cancel_requested_at is null
        order by a.created_at limit ${stepRowsOfTenant}
      ) expired
      where t.deleted_at is null limit ${stepRows}
    )`;
}

/** Ends what is pending of one pause. Returns false when somebody else moves the turn. */
function expirePause(sql: Sql, pause: Pause): Promise<boolean> {
  const { turnId, continuationId } = pause;
  return tx(sql, async (inner) => {
    const [waiting] = await inner<{ agentId: string }[]>`
      select /* turn.lock_waiting */ agent_id from turns
      where id = ${turnId} and status = 'waiting' and continuation_id = ${continuationId} and cancel_requested_at is null
      for no key update skip locked`;
    if (waiting === undefined) return false;
    const denied = await inner<ApprovalRow[]>`${expireMove(inner, continuationId)}`;
    const calls = await inner<ClientCallRow[]>`${expireCallsMove(inner, continuationId)}`;
    if (denied.length + calls.length === 0) return false;
    const results = calls.map(({ toolCallId }) => ({ toolCallId, errorText: expiredReason }));
    await applySettled(inner, pause, { decisions: denied.map(decisionOf), results });
    const { agentId } = waiting;
    for (const { id, tenantId } of denied)
      await recordAudit(inner, { ...byTheSystem, tenantId, agentId, resourceId: id, changes: ["status", "reason"] });
    return true;
  });
}
