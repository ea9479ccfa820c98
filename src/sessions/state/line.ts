import type postgres from "postgres";
import type { AnySql, Tx } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { addJob, addJobSql, hasLiveJobSql, jobKeySql } from "../../kernel/queue/add-job.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { CancelKeep, StoppingTurn } from "./cancel-request.ts";
import { hasParkedSql } from "./parked.ts";
import type { TurnKind } from "./turn.ts";
import { newTurnJobs } from "./turn-job.ts";

/**
 * The line of a session: the turns that were accepted while another one was unfinished, in
 * the order in which they start (`line_place`). `sessions.line` counts them and changes only
 * under the lock on the session's row, with the status of the turn, so it is always exact.
 * `accept/enqueue.ts` writes a turn into it.
 * The end of a turn adds the job `session.next` where there is a line (`end/end.ts`), and
 * that job starts the first of it (`accept/start-next.ts`). The states are in `turn.ts`.
 */

/** The first turn of a line, with what decides whether it may start. */
export interface FirstInLine {
  readonly id: IdOf<"turn">;
  readonly tenantId: IdOf<"tenant">;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session">;
  readonly kind: TurnKind;
  readonly userId: string;
  readonly pinnedVersion: number | null;
  readonly isDeleted: boolean;
  readonly trigger: "submit-message" | "regenerate-message";
  readonly input: UiMessage | null;
  readonly regenerates: string | null;
  readonly requestId: string | null;
  /** Somebody asked to cancel it, or the chat that it came from is disabled or gone. */
  readonly isCanceled: boolean;
  readonly acceptedAt: Date;
}

/** Returns the first turn of a session's line; null when nobody waits, or an unfinished turn holds the line. */
export async function firstInLine(sql: AnySql, sessionId: string): Promise<FirstInLine | null> {
  const [turn] = await sql<FirstInLine[]>`
    select /* line.first */ t.id, t.tenant_id, t.agent_id, t.session_id, s.user_id, s.pinned_version, s.deleted_at is not null as is_deleted,
      t.kind, t.trigger, t.input, t.regenerates, t.request_id, t.accepted_at,
      t.cancel_requested_at is not null or t.kind = 'chat' and not exists (
        select 1 from chat_threads th join chat_connections c on c.id = th.connection_id
        where th.session_id = s.id and c.enabled) as is_canceled
    from turns t join sessions s on s.id = t.session_id
    where t.session_id = ${sessionId} and t.status = 'enqueued' and not exists (
      select 1 from turns a where a.session_id = ${sessionId} and a.status in ('queued', 'running', 'waiting'))
    order by t.line_place limit 1`;
  return turn ?? null;
}

/** How a turn of the line starts. */
export interface LineStart {
  readonly turnId: IdOf<"turn">;
  readonly agentVersion: number;
  /** A regeneration keeps the transcript up to this place; null sends the message. */
  readonly keepSeq: number | null;
  /** Its tenant has a limit of running turns: it is parked, and counted when it is picked. */
  readonly isCounted: boolean;
}

/**
 * The move *start*: queues the first turn of a line, with its job. The caller holds the lock
 * on the session's row. Returns false when another turn holds the line, the turn has left it, or somebody asked
 * to cancel it, or it is not the first any more.
 */
export async function startMove(inner: Tx, { turnId, agentVersion, keepSeq, isCounted }: LineStart): Promise<boolean> {
  const { job, announced } = newTurnJobs(inner, "started");
  const rows = await inner`
    with /* turn.start */ started as (
      update turns t set status = 'queued', queued_at = now(), agent_version = ${agentVersion}, keep_seq = ${keepSeq}::bigint,
        trigger = case when ${keepSeq}::bigint is null then 'submit-message' else trigger end,
        input = case when ${keepSeq}::bigint is null then input end,
        parked_at = case when ${isCounted} or ${hasParkedSql(inner, inner`t.tenant_id`)} then now() end
      where id = ${turnId} and status = 'enqueued' and cancel_requested_at is null
        and not exists (select 1 from turns a where a.session_id = t.session_id
          and (a.status in ('queued', 'running', 'waiting') or a.status = 'enqueued' and a.line_place < t.line_place))
      returning id, session_id, tenant_id, parked_at
    ), home as (
      update sessions s set line = line - 1 from started where s.id = started.session_id
    ), ${job}
    select ${announced} from started`;
  return rows.length > 0;
}

/**
 * Asks turns in the line of a session to stop: the first `limit` of it, or all. Returns them
 * in the order of the line. The caller holds the lock on the session's row.
 */
export async function requestCancelOfLine(
  inner: Tx,
  sessionId: string,
  { keep, limit }: { readonly keep: CancelKeep; readonly limit: number | null },
): Promise<StoppingTurn[]> {
  // Locked in this order, as whoever cancels turns of an agent or a tenant does.
  await inner`select /* line.lock */ 1 from turns where session_id = ${sessionId} and status = 'enqueued' order by id for no key update`;
  return inner<StoppingTurn[]>`
    with /* line.cancel */ asked as (
      update turns set cancel_requested_at = coalesce(cancel_requested_at, now()),
        cancel_keep = case when cancel_requested_at is null then ${keep} else coalesce(cancel_keep, 'nothing') end
      where id in (
        select id from turns where session_id = ${sessionId} and status = 'enqueued' order by line_place limit ${limit}::int)
      returning id, status, attempt, line_place
    )
    select id, status, attempt from asked order by line_place`;
}

/** Adds the job that starts the first of a line, now or at a later time. */
export function ringLine(sql: AnySql, sessionId: string, tenantId: string, runAt?: Date): Promise<void> {
  return addJob(sql, "session.next", { sessionId, tenantId }, runAt === undefined ? {} : { runAt });
}

/**
 * Returns the SQL of: no unfinished turn holds the line of a row of `sessions`, and no job starts its first turn. Not by
 * `not exists`, which Postgres makes a join of: then it would read all sessions while it believes them to be few.
 */
export function isLostLine(sql: AnySql): postgres.Fragment {
  const hasJob = hasLiveJobSql(sql, jobKeySql(sql, "session.next", sql`sessions.id`));
  return sql`exists (
      select 1 from turns a where a.session_id = sessions.id and a.status in ('queued', 'running', 'waiting')) is not true
    and (${hasJob}) is not true`;
}

/** Adds the job of lines that no unfinished turn holds and that have none. Returns their sessions. */
export async function ringLostLines(sql: AnySql, limit: number): Promise<{ id: IdOf<"session"> }[]> {
  return sql<{ id: IdOf<"session"> }[]>`
    with /* line.ring_lost */ lost as materialized (
      select id as session_id, tenant_id from sessions where line > 0 and ${isLostLine(sql)} limit ${limit}
    )
    select session_id as id, (${addJobSql(sql, "session.next", { sessionId: sql`session_id`, tenantId: sql`tenant_id` })}).id as job from lost`;
}
