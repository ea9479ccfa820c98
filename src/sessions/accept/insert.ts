import type postgres from "postgres";
import { runnableVersion } from "../../agents/runnable.ts";
import { sleep } from "../../kernel/async/wait.ts";
import { keyStands } from "../../kernel/auth/recalled-keys.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import { type AnySql, json, type Sql } from "../../kernel/database/client.ts";
import { isTransient, unavailable, violatedConstraint } from "../../kernel/database/failure.ts";
import { ApiError, type Form } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { databaseWaitMs } from "../../kernel/limits.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import type { CallerOptions } from "../state/caller-options.ts";
import { hasParkedSql } from "../state/parked.ts";
import type { TurnKind } from "../state/turn.ts";
import { newTurnJobs } from "../state/turn-job.ts";
import { andHasPlace, refuseIfFull, type TenantQueue } from "./queued-turns.ts";

/** A turn to be written, and with it its session when that is new. */
export interface NewTurn extends TenantQueue {
  readonly turnId: IdOf<"turn">;
  readonly agentId: IdOf<"agent">;
  /** Null: a stateless generation. */
  readonly sessionId: IdOf<"session"> | null;
  readonly kind: TurnKind;
  /** The task's run that begins with this turn; such a turn has a new session. */
  readonly taskRunId: IdOf<"taskRun"> | null;
  readonly newSession: boolean;
  /** Whether a new session is visible at once. */
  readonly visible: boolean;
  readonly pinnedVersion: number | null;
  readonly agentVersion: number;
  readonly trigger: "submit-message" | "regenerate-message";
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly keepSeq: number | null;
  readonly assistantMessageId: IdOf<"message">;
  /** The user of a new session; a turn of an existing session has the session's. */
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly responseFormat: ResponseFormat | null;
  readonly callerOptions: CallerOptions | null;
  readonly requestId: string;
  /** The trace context of the request's span, which is the parent of the turn's. */
  readonly traceparent: string | null;
  /** By the database's clock; a statement that starts later writes nothing. */
  readonly writeBefore: Date;
}

/**
 * Writes the session (if it is new), the turn and its job in one statement. A turn whose tenant
 * has parked turns, or a limit of running turns, is parked, without a job. Throws 409
 * `session_busy` when the session has an active turn (the unique index decides, however
 * many processes race), 429 `too_many_turns`, 404 when the session (or the task's run) cannot take the turn any
 * more, and 503 after `writeBefore`.
 */
export async function insertTurn(sql: AnySql, turn: NewTurn): Promise<void> {
  const rows = await orBusy(turn.newSession ? insertWithSession(sql, turn) : insertIntoSession(sql, turn));
  if (rows.length > 0) return;
  if (Date.now() > turn.writeBefore.getTime()) throw unavailable();
  await refuseIfFull(sql, turn);
  await refuseIfLine(sql, turn.sessionId);
  throw new ApiError("not_found");
}

/** Throws 409 `session_busy` when turns wait in the line of the session. */
export async function refuseIfLine(sql: AnySql, sessionId: string | null): Promise<void> {
  const [waits] = await sql`
    select /* line.exists */ 1 from sessions where id = ${sessionId} and deleted_at is null and line > 0`;
  if (waits !== undefined) throw new ApiError("session_busy");
}

async function orBusy<T>(insert: PromiseLike<T>): Promise<T> {
  try {
    return await insert;
  } catch (error) {
    if (violatedConstraint(error) === "turns_one_active") throw new ApiError("session_busy");
    throw error;
  }
}

/** The fields that every way of writing a turn needs. */
type TurnRow = Omit<NewTurn, "agentVersion" | "taskRunId" | "keepSeq">;

/** A turn whose agent is read in the statement that writes it. */
export interface PlainTurn extends TurnRow {
  /** The key that is looked up in the statement, because it was not before, and the form of its tenant; null: who asks is known. */
  readonly recalled: { readonly key: string | null; readonly form: Form } | null;
  /** Whether the operator configured a provider for agents without one. */
  readonly hasPlatformProvider: boolean;
}

/**
 * Writes a turn that needs no more than its agent, in one statement outside a
 * transaction. Returns false, having written nothing, when agent or session do not allow
 * it; the caller finds the reason by reading them one by one. Throws 409 `session_busy`.
 */
export async function insertPlainTurn(sql: Sql, turn: PlainTurn): Promise<boolean> {
  return untilSure(async () => {
    const rows = await orBusy(insertWithAgent(sql, turn));
    return rows.length > 0;
  });
}

/** Does what `insertTurn` does, outside a transaction, and repeats it when the connection breaks. */
export async function insertTurnAlone(sql: Sql, turn: NewTurn): Promise<void> {
  await untilSure(async () => {
    await insertTurn(sql, turn);
    return true;
  });
}

/** Pause between attempts when the connection breaks during an insert. */
const retryPauseMs = 100;

/**
 * When the connection breaks it is unknown whether the insert was committed, so it is
 * sent again. If it was, the second insert of the same id is refused, and that is a
 * success.
 */
async function untilSure(insert: () => Promise<boolean>): Promise<boolean> {
  const expiresAt = Date.now() + databaseWaitMs;
  for (;;) {
    try {
      return await insert();
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === "turns_pkey" || constraint === "sessions_pkey") return true;
      if (!isTransient(error) || Date.now() + retryPauseMs > expiresAt) throw error;
      await sleep(retryPauseMs);
    }
  }
}

function insertWithAgent(sql: AnySql, turn: PlainTurn) {
  const { tenantId, agentId, hasPlatformProvider } = turn;
  const agent = (version: postgres.Fragment) =>
    runnableVersion(sql, { tenantId: sql`${tenantId}`, agentId: sql`${agentId}`, hasPlatformProvider, version });
  const stands = andStands(sql, turn);
  if (turn.newSession) {
    const due = sql`select 1 from agent where clock_timestamp() < ${turn.writeBefore} ${andHasPlace(sql, turn)} ${stands}`;
    return sql`
      with /* turn.accept */ agent as materialized (${agent(sql`${turn.pinnedVersion}::int`)}), due as (${due}),
      session as (${newSession(sql, turn)}), ${insertRow(sql, turn, !turn.visible, sql`(select version from agent)`)}`;
  }
  const { id = "" } = turn.input as { readonly id?: string };
  // An id that the session has already is refused by whoever reads why nothing was written.
  const isNew = sql`and not exists (select 1 from messages m where m.session_id = sessions.id and m.id = ${id})`;
  return sql`
    with /* turn.accept */ session as materialized (${existingSession(sql, turn, { columns: sql`, pinned_version`, conditions: sql`${isNew} ${stands}` })}),
    agent as materialized (${agent(sql`(select pinned_version from session)`)}),
    ${insertRow(sql, turn, false, sql`(select version from agent)`, sql`where exists (select 1 from agent)`)}`;
}

function insertWithSession(sql: AnySql, turn: NewTurn) {
  return sql`
    with /* turn.accept */ due as (${dueRow(sql, turn)}), session as (${newSession(sql, turn)}),
    ${insertRow(sql, turn, !turn.visible, sql`${turn.agentVersion}`)}`;
}

/** Inserts the new session of a turn, if the CTE `due` has a row. */
function newSession(sql: AnySql, turn: TurnRow): postgres.Fragment {
  return sql`
    insert into sessions (id, tenant_id, agent_id, pinned_version, user_id, metadata, visible)
    select ${turn.sessionId}, ${turn.tenantId}, ${turn.agentId}, ${turn.pinnedVersion}::int, ${turn.userId},
      ${json(sql, turn.metadata)}, ${turn.visible}
    from due
    returning id, user_id`;
}

/**
 * Has one row when the turn may be written. A task's run is started by the same
 * statement, so that there is never a started run without its turn, nor a turn of a run
 * that was canceled or started before.
 */
function dueRow(sql: AnySql, turn: NewTurn) {
  const { taskRunId, sessionId, turnId, writeBefore } = turn;
  if (taskRunId === null) return sql`select 1 where clock_timestamp() < ${writeBefore} ${andHasPlace(sql, turn)}`;
  return sql`
    update task_runs set status = 'running', session_id = ${sessionId}, turn_id = ${turnId}, started_at = now(), updated_at = now()
    where id = ${taskRunId} and status = 'queued' and clock_timestamp() < ${writeBefore} ${andHasPlace(sql, turn)} returning 1`;
}

function insertIntoSession(sql: AnySql, turn: NewTurn) {
  const session =
    turn.sessionId === null
      ? sql`select null::text as id, ${turn.userId}::text as user_id where clock_timestamp() < ${turn.writeBefore} ${andHasPlace(sql, turn)}`
      : existingSession(sql, turn);
  return sql`
    with /* turn.accept */ session as materialized (${session}), ${insertRow(sql, turn, false, sql`${turn.agentVersion}`)}`;
}

/** The session's row is locked, so that it cannot be deleted at the same time. */
function existingSession(
  sql: AnySql,
  turn: TurnRow,
  { columns, conditions } = { columns: sql``, conditions: sql`` },
): postgres.Fragment {
  return sql`
    select id, user_id ${columns} from sessions where id = ${turn.sessionId} and ${byKeyOnly(sql, sql`tenant_id`)} = ${turn.tenantId}
      and ${byKeyOnly(sql, sql`agent_id`)} = ${turn.agentId} and deleted_at is null and line = 0 and clock_timestamp() < ${turn.writeBefore} ${andHasPlace(sql, turn)} ${conditions}
      for no key update`;
}

/** Returns the condition, beginning with `and`, that a recalled key is still good; nothing where who asks is known. */
function andStands(sql: AnySql, { recalled, tenantId, queuedTurnsMax }: PlainTurn): postgres.Fragment {
  if (recalled === null) return sql``;
  return sql`and ${keyStands(sql, {
    digest: sql`${recalled.key}`,
    tenantId: sql`${tenantId}`,
    form: sql`${recalled.form}`,
    queuedTurns: sql`${queuedTurnsMax}::int`,
  })}`;
}

function insertRow(
  sql: AnySql,
  turn: TurnRow & { readonly keepSeq?: number | null },
  firstOfHidden: boolean,
  agentVersion: postgres.Fragment,
  only = sql``,
): postgres.Fragment {
  const { job, announced } = newTurnJobs(sql, "accepted");
  return sql`
    accepted as (
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, trigger, input, keep_seq,
        assistant_message_id, first_of_hidden_session, user_id, metadata, request_id, traceparent, parked_at ${turn.responseFormat === null ? sql`` : sql`, response_format`}
        ${turn.callerOptions === null ? sql`` : sql`, caller_options`})
      select ${turn.turnId}, ${turn.tenantId}, ${turn.agentId}, session.id, ${turn.kind}, ${agentVersion}, ${turn.trigger},
        ${turn.input === null ? null : json(sql, turn.input)}, ${turn.keepSeq ?? null}::bigint,
        ${turn.assistantMessageId}, ${firstOfHidden}, session.user_id, ${json(sql, turn.metadata)}, ${turn.requestId},
        ${turn.traceparent}, case when ${turn.isCounted} or ${hasParkedSql(sql, sql`${turn.tenantId}`)} then now() end
        ${turn.responseFormat === null ? sql`` : sql`, ${json(sql, turn.responseFormat)}`}
        ${turn.callerOptions === null ? sql`` : sql`, ${json(sql, turn.callerOptions)}`}
      from session ${only}
      returning id, session_id, tenant_id, parked_at
    ), ${job}
    select ${announced} from accepted`;
}
