import { type AgentIds, andOf } from "../../kernel/auth/agent-scope.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql, Tx } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";

/**
 * Requests to stop a turn. A request moves no turn by itself: it is noted in the turn's row
 * (`cancel_requested_at`), from where on the turn is neither claimed nor run again and cannot
 * succeed, and whoever has the turn ends it (`turn.ts`). Of several who ask, the first decides
 * what is kept (`cancel_keep`).
 */

/** The name of the channel on which cancellations are announced; a beat finds those that were missed. */
export const cancelChannel = "parley_cancel";

/** A turn that was asked to stop, in the state in which it was found. */
export interface StoppingTurn {
  readonly id: IdOf<"turn">;
  readonly status: "enqueued" | "queued" | "running" | "waiting";
  readonly attempt: number;
}

/** What a cancelled turn leaves in the transcript: `nothing`, or `partial`, the question with what was answered so far. */
export type CancelKeep = "nothing" | "partial";

/** A session as it is named from outside. */
export interface NamedSession {
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string;
}

/** Which turn is asked to stop: the unfinished one of a session, or one of a session by its id. */
export type CancelTarget =
  | { readonly session: NamedSession }
  | { readonly turn: { readonly sessionId: string; readonly turnId: string } };

/** A locked session, and the turn of it that was asked to stop; null when none is unfinished. */
interface AskedSession {
  readonly visible: boolean;
  readonly turn: StoppingTurn | null;
}

/**
 * Locks a session, asks its unfinished turn to stop, and announces that where a worker has it. One in the line is asked
 * only by its id. Returns null when there is no such session.
 */
export async function requestCancel(inner: Tx, target: CancelTarget, keep: CancelKeep): Promise<AskedSession | null> {
  const asked = await askOnce(inner, target, keep);
  // Where it has waited for the lock, it does not see the turn that was written or started meanwhile. The lock is held now.
  return asked === null || asked.turn !== null ? asked : askOnce(inner, target, keep);
}

async function askOnce(inner: Tx, target: CancelTarget, keep: CancelKeep): Promise<AskedSession | null> {
  const { sessionId } = "turn" in target ? target.turn : target.session;
  const isThere =
    "turn" in target
      ? inner``
      : inner`and ${byKeyOnly(inner, inner`tenant_id`)} = ${target.session.tenantId} and ${byKeyOnly(inner, inner`agent_id`)} = ${target.session.agentId}
        and deleted_at is null and exists (select 1 from agents a where a.id = agent_id)`;
  // Written out, because only then the index of the unfinished turns is found.
  const isUnfinished =
    "turn" in target
      ? inner`status in ('enqueued', 'queued', 'running', 'waiting') and id = ${target.turn.turnId}`
      : inner`status in ('queued', 'running', 'waiting')`;
  // A scalar subquery: the session is locked before a turn is looked for.
  const [row] = await inner<(StoppingTurn & { readonly visible: boolean })[]>`
    with /* turn.cancel */ home as materialized (
      select id, visible from sessions where id = ${sessionId} ${isThere} for no key update
    ), asked as (
      update turns set cancel_requested_at = coalesce(cancel_requested_at, now()),
        cancel_keep = case when cancel_requested_at is null then ${keep} else coalesce(cancel_keep, 'nothing') end
      where session_id = (select id from home) and ${isUnfinished}
      returning id, status, attempt
    )
    select home.visible, asked.*, case when status = 'running' then pg_notify(${cancelChannel}, asked.id)::text end as announced
    from home left join asked on true`;
  return row === undefined ? null : { visible: row.visible, turn: row.id === null ? null : row };
}

/** Which turns `requestCancelOfMany` asks. */
interface ManyTurns {
  readonly tenantId: string;
  /** Those that match all that is given. */
  readonly only: TurnsToEnd;
  readonly acceptedUntil: Date;
  readonly limit: number;
  /** Those in these states. */
  readonly statuses: "enqueued" | "active" | "queued" | "running" | "waiting";
  /** Whether turns that another transaction moves now are waited for, or left for the next call. */
  readonly waits: boolean;
}

/** Which unfinished turns are to end. */
export interface TurnsToEnd {
  /** Left out or null: those of all agents. */
  readonly agentIds?: AgentIds;
  readonly agentId?: string | undefined;
  readonly sessionId?: string | undefined;
  /** The empty string: turns without a user. */
  readonly userId?: string | undefined;
  /** `queued`: those in the lines of their sessions too. */
  readonly status?: "queued" | "running" | "waiting" | undefined;
}

/** Asks unfinished turns of a tenant to stop that were not asked yet, and announces those that run. Returns them. */
export async function requestCancelOfMany(
  sql: AnySql,
  { tenantId, only, acceptedUntil, limit, statuses, waits }: ManyTurns,
  channel: string,
): Promise<StoppingTurn[]> {
  const { agentId, agentIds = null, sessionId, userId } = only;
  // Written out, because only then the index of the unfinished turns is found.
  const found = statuses === "active" ? sql`('queued', 'running', 'waiting')` : sql`(${sql.unsafe(`'${statuses}'`)})`;
  return sql<StoppingTurn[]>`
    with /* turn.cancel_many */ found as (
      select id from turns
      where tenant_id = ${tenantId} and status in ${found} and cancel_requested_at is null
        and accepted_at <= ${acceptedUntil} ${agentId === undefined ? sql`` : sql`and agent_id = ${agentId}`} ${andOf(sql, sql`agent_id`, agentIds)}
        ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
        ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
      ${waits ? sql`order by id` : sql``} limit ${limit} for no key update ${waits ? sql`` : sql`skip locked`}
    ), asked as (
      update turns t set cancel_requested_at = now() from found where t.id = found.id
      returning t.id, t.status, t.attempt
    )
    select asked.*, case when status = 'running' then pg_notify(${channel}, id)::text end as announced from asked`;
}

/** Asks the turns of a tenant that wait for a person to stop; the reaper ends and meters them. */
export async function requestCancelOfWaiting(sql: AnySql, tenantId: string): Promise<void> {
  await sql`
    update /* turn.cancel_waiting */ turns set cancel_requested_at = coalesce(cancel_requested_at, now()) where tenant_id = ${tenantId} and status = 'waiting'`;
}
