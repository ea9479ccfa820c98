import { type AnySql, isPassing, json, type Sql, unavailable, violatedConstraint } from "../db.ts";
import { ApiError } from "../errors.ts";
import { databaseWaitMs } from "../limits.ts";
import { currentTraceparent } from "../trace.ts";
import { addFirstTurnJob } from "./requeue.ts";
import type { UiMessage } from "./schema.ts";
import type { TurnKind } from "./turns.ts";

/** A turn about to be written, with the session it may bring along. */
export interface NewTurn {
  readonly turnId: string;
  readonly tenantId: string;
  readonly agentId: string;
  /** Null: a stateless generation. */
  readonly sessionId: string | null;
  readonly kind: TurnKind;
  /** The task's run that begins with this turn; such a turn makes its session. */
  readonly taskRunId: string | null;
  readonly newSession: boolean;
  /** Whether a new session can be seen at once. */
  readonly visible: boolean;
  readonly pinnedVersion: number | null;
  readonly agentVersion: number;
  readonly trigger: "submit-message" | "regenerate-message";
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly keepSeq: number | null;
  readonly assistantMessageId: string;
  /** Of a new session; a turn of an existing one takes the session's. */
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** By the database's clock; a statement that starts later writes nothing. */
  readonly writeBefore: Date;
}

/**
 * Writes the session (if it is new), the turn and its job in one statement.
 * Throws 409 `session_busy` when the session has an active turn (the unique index
 * decides, however many processes race) and 404 when it is gone.
 */
export async function insertTurn(sql: AnySql, turn: NewTurn): Promise<void> {
  try {
    const rows = await (turn.newSession ? insertWithSession(sql, turn) : insertIntoSession(sql, turn));
    if (rows.length === 0) throw Date.now() > turn.writeBefore.getTime() ? unavailable() : new ApiError("not_found");
  } catch (error) {
    if (violatedConstraint(error) === "turns_one_active") throw new ApiError("session_busy");
    throw error;
  }
}

/** Pause between attempts to reach a database that went away in the middle of an insert. */
const retryPauseMs = 100;

/**
 * `insertTurn` on its own, outside a transaction. When the connection breaks
 * nobody knows whether the statement was committed, so it is sent again: the
 * turn's own id then tells, because a second insert of it is refused.
 */
export async function insertTurnAlone(sql: Sql, turn: NewTurn): Promise<void> {
  const expiresAt = Date.now() + databaseWaitMs;
  for (;;) {
    try {
      return await insertTurn(sql, turn);
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === "turns_pkey" || constraint === "sessions_pkey") return;
      if (!isPassing(error) || Date.now() + retryPauseMs > expiresAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, retryPauseMs));
    }
  }
}

function insertWithSession(sql: AnySql, turn: NewTurn) {
  return sql`
    with due as (${dueRow(sql, turn)}), session as (
      insert into sessions (id, tenant_id, agent_id, pinned_version, user_id, metadata, visible)
      select ${turn.sessionId}, ${turn.tenantId}, ${turn.agentId}, ${turn.pinnedVersion}::int, ${turn.userId},
        ${json(sql, turn.metadata)}, ${turn.visible}
      from due
      returning id, user_id
    ), ${insertRow(sql, turn, !turn.visible)}`;
}

/**
 * One row when the turn may be written. A task's run begins in this very
 * statement, so that there is never a run without its turn nor a turn that a run
 * which was canceled, or begun already, knows nothing of.
 */
function dueRow(sql: AnySql, { taskRunId, sessionId, turnId, writeBefore }: NewTurn) {
  if (taskRunId === null) return sql`select 1 where clock_timestamp() < ${writeBefore}`;
  return sql`
    update task_runs set status = 'running', session_id = ${sessionId}, turn_id = ${turnId}, started_at = now(), updated_at = now()
    where id = ${taskRunId} and status = 'queued' and clock_timestamp() < ${writeBefore} returning 1`;
}

/** The session's row is locked, so that it cannot be deleted in the same moment. */
function insertIntoSession(sql: AnySql, turn: NewTurn) {
  const session =
    turn.sessionId === null
      ? sql`select null::text as id, ${turn.userId}::text as user_id where clock_timestamp() < ${turn.writeBefore}`
      : sql`select id, user_id from sessions where id = ${turn.sessionId} and tenant_id = ${turn.tenantId}
          and agent_id = ${turn.agentId} and deleted_at is null and clock_timestamp() < ${turn.writeBefore}
          for no key update`;
  return sql`with session as materialized (${session}), ${insertRow(sql, turn, false)}`;
}

function insertRow(sql: AnySql, turn: NewTurn, firstOfHidden: boolean) {
  return sql`
    accepted as (
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, trigger, input, keep_seq,
        assistant_message_id, first_of_hidden_session, user_id, metadata, request_id, traceparent)
      select ${turn.turnId}, ${turn.tenantId}, ${turn.agentId}, session.id, ${turn.kind}, ${turn.agentVersion}, ${turn.trigger},
        ${turn.input === null ? null : json(sql, turn.input)}, ${turn.keepSeq}::bigint,
        ${turn.assistantMessageId}, ${firstOfHidden}, session.user_id, ${json(sql, turn.metadata)}, ${turn.requestId},
        ${currentTraceparent()}
      from session
      returning id, session_id
    )
    select (${addFirstTurnJob(sql)}).id from accepted`;
}
