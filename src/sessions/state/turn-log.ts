import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";
import { statement } from "../../kernel/database/statement.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnError } from "./turn-end.ts";

/**
 * Turn logs: what followers see of a turn. A turn has one, up to its end or its first
 * stop to ask; each continuation has its own. Both are followed in the same way.
 */
export type LogStatus = "enqueued" | "waiting" | "queued" | "running" | "succeeded" | "failed" | "canceled";

export interface LogState {
  /** The turn's or the continuation's id. */
  readonly id: string;
  readonly turnId: IdOf<"turn">;
  readonly status: LogStatus;
  /** The claim whose chunks the log holds; of a queued one, the claims so far. */
  readonly attempt: number;
  /** An earlier log of it was lost (`LogKey`). */
  readonly afterLoss: boolean;
  readonly assistantMessageId: IdOf<"message">;
  readonly error: TurnError | null;
  /** Events of the complete log; null while it grows, and where its worker did not end it. */
  readonly relayEvents: number | null;
  readonly lastChunk: unknown;
}

/**
 * Returns the states of some turn logs, by turn or continuation id. A log that ends because
 * its turn asks has succeeded; that of a turn which is queued to go on with it is running.
 */
export async function logStates(sql: AnySql, ids: readonly string[]): Promise<LogState[]> {
  const turnIds = ids.filter((id) => id.startsWith("turn_"));
  const continuationIds = ids.filter((id) => !id.startsWith("turn_"));
  return sql<LogState[]>`
    select /* log.state */ id, id as turn_id,
      case when continuation_id is not null then 'succeeded' when status = 'queued' and steps_done > 0 then 'running' else status end as status,
      case when status in ('enqueued', 'queued') and continuation_id is null and steps_done = 0 then attempt else coalesce(log_attempt, attempt) end as attempt,
      log_after_loss as after_loss, assistant_message_id, error, relay_events, last_chunk
    from turns where id = any(${turnIds})
    union all
    select c.id, c.turn_id, c.status,
      case when c.status in ('waiting', 'queued') then t.attempt else coalesce(c.log_attempt, t.attempt) end,
      c.log_after_loss, t.assistant_message_id, c.error, c.relay_events, c.last_chunk
    from continuations c join turns t on t.id = c.turn_id where c.id = any(${continuationIds})`;
}

/** How a turn's own log ended. */
export interface EndOfTurn extends Pick<LogState, "status" | "error"> {
  /** What it answered with. */
  readonly message: UiMessage | null;
  /** Whether the message's final text is JSON that was asked for. */
  readonly hasOutput: boolean;
}

/**
 * Returns how a turn's own log ended, with the message it answered with: from the
 * transcript, or the stateless answer. Where a turn that stopped to ask was cancelled
 * before anybody read its message, the cancel is the end: the message is gone.
 */
export async function endOfTurn(sql: AnySql, turnId: string): Promise<EndOfTurn | null> {
  const fields = endFields(sql, sql`coalesce(t.answer, m.content)`);
  const [row] = await sql<EndOfTurn[]>`select /* log.end */ ${fields} where t.id = ${turnId}`;
  return row ?? null;
}

/** An end among several. */
interface EndOfOne extends EndOfTurn {
  readonly turnId: string;
  /** Its message has more than the bytes that were asked for, or is not in a transcript, and is not here. */
  readonly isLarge: boolean;
}

/**
 * Returns the same of several turns, messages of at most `bytesMax` only. Turns that do not exist are left out. Each is found by
 * its key: two limits that let nothing out make Postgres plan for one turn (as in `endPlain`), so that no plan which reads
 * all messages, made while there were few, is kept while they grow.
 */
export async function endsOfTurns(
  sql: AnySql,
  turnIds: readonly string[],
  bytesMax: number,
): Promise<readonly EndOfOne[]> {
  return readEnds(sql, {}, { turnIds, bytesMax });
}

interface AskedEnds {
  readonly turnIds: readonly string[];
  readonly bytesMax: number;
}

const readEnds = statement<Record<never, never>, AskedEnds, EndOfOne>((sql, given) => {
  const isLarge = sql`(t.answer is not null or coalesce(m.bytes > ${given(({ bytesMax }) => bytesMax)}, false))`;
  const ends = endFields(sql, sql`case when not ${isLarge} then m.content end`);
  const count = given(({ turnIds }) => turnIds.length);
  return sql`
    select /* log.end_of_many */ asked.turn_id, ends.*
    from (
      select turn_id from (select turn_id from unnest(${given(({ turnIds }) => turnIds)}::text[]) as a (turn_id) limit ${count}) a
      limit ${count}
    ) asked
    cross join lateral (select ${isLarge} as is_large, ${ends} where t.id = asked.turn_id) ends`;
});

function endFields(sql: AnySql, message: postgres.Fragment): postgres.Fragment {
  return sql`t.error, t.response_format is not null and t.status = 'succeeded' as has_output, ${message} as message,
      case when t.continuation_id is null or (t.status = 'canceled' and t.answer is null and m.content is null)
        then t.status else 'succeeded' end as status
    from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'`;
}

/** Returns the same for the log of a continuation. */
export async function endOfContinuation(sql: AnySql, continuationId: string): Promise<EndOfTurn | null> {
  const [row] = await sql<EndOfTurn[]>`
    select /* log.end_of_continuation */ c.error, t.response_format is not null and t.status = 'succeeded' as has_output, coalesce(t.answer, m.content) as message,
      case when t.status = 'canceled' and (c.status = 'failed' or coalesce(t.answer, m.content) is null)
        then 'canceled' else c.status end as status
    from continuations c join turns t on t.id = c.turn_id
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where c.id = ${continuationId}`;
  return row ?? null;
}

/**
 * Returns the last log of a turn that has events, and the turn, by any log of it; null when
 * the session has no such turn. Of a turn that waits it is the log that it stopped with.
 */
export async function lastLogOf(
  sql: AnySql,
  sessionId: string,
  logId: string,
): Promise<{ readonly turnId: IdOf<"turn">; readonly logId: string } | null> {
  const turnId = logId.startsWith("turn_")
    ? sql`${logId}`
    : sql`(select turn_id from continuations where id = ${logId})`;
  const [row] = await sql<{ turnId: IdOf<"turn">; logId: string }[]>`
    select /* log.of_turn */ t.id as turn_id, coalesce((
      select c.id from continuations c where c.turn_id = t.id and c.status <> 'waiting' order by c.created_at desc, c.id desc limit 1
    ), t.id) as log_id
    from turns t where t.id = ${turnId} and t.session_id = ${sessionId}`;
  return row ?? null;
}

/** Returns the message of a turn as it was when it stopped to ask; null when this continuation of it is not to run, or running. */
export async function messageAtPause(sql: AnySql, turnId: string, continuationId: string): Promise<UiMessage | null> {
  const [row] = await sql<{ message: UiMessage | null }[]>`
    select /* log.read_question */ coalesce(t.answer, m.content) as message from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId} and t.continuation_id = ${continuationId} and t.status in ('queued', 'running')`;
  return row?.message ?? null;
}

/** How a turn had stopped to ask before a continuation. */
export interface PauseBefore {
  /** How many parts its message had. */
  readonly saidParts: number;
  /**
   * The approvals of calls that had not ended: what somebody decided on there, and what was denied
   * at an earlier stop. What a caller's tools answered was in the message before the continuation began.
   */
  readonly decided: readonly string[];
}

/** Returns how a turn had stopped to ask before a continuation; null where nobody wrote it down. */
export async function pauseBefore(sql: AnySql, continuationId: string): Promise<PauseBefore | null> {
  const [row] = await sql<PauseBefore[]>`
    select /* log.pause_before */ c.said_parts, array(
      select a.id from approvals a join continuations o on o.id = a.continuation_id
      where o.turn_id = c.turn_id and (o.id = c.id or a.status = 'denied')
    ) as decided
    from continuations c where c.id = ${continuationId} and c.said_parts is not null`;
  return row ?? null;
}

/** What a turn has answered with. */
export interface StoredAnswer {
  /** From the transcript, or the stateless answer. Null while there is none. */
  readonly message: UiMessage | null;
  /** The turn has ended, so that the message stays as it is. */
  readonly isFinal: boolean;
  /** What ends the message where the turn succeeded, whichever of its logs was read before; null: that log's own end. */
  readonly lastChunk: unknown;
}

/** Returns what a turn has answered with so far. */
export async function answerOf(sql: AnySql, turnId: string): Promise<StoredAnswer> {
  const [row] = await sql<StoredAnswer[]>`
    select /* log.stored_answer */ coalesce(t.answer, m.content) as message, t.status in ('succeeded', 'failed', 'canceled') as is_final,
      case when t.status = 'succeeded' then coalesce((select c.last_chunk from continuations c where c.id = t.continuation_id), t.last_chunk) end as last_chunk
    from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  return row ?? { message: null, isFinal: false, lastChunk: null };
}

/** Returns whether a turn log is complete. */
export function isEnded(status: LogStatus): boolean {
  return status === "succeeded" || status === "failed" || status === "canceled";
}

/** The statuses of a log that its next claim will write. */
const unclaimed: ReadonlySet<string> = new Set<LogStatus>(["enqueued", "queued", "waiting"]);

/** Returns the attempt whose chunks a turn log holds or will hold: those of a queued one will be the next claim's. */
export function logAttemptOf(state: { readonly status: string; readonly attempt: number }): number {
  return unclaimed.has(state.status) ? state.attempt + 1 : Math.max(1, state.attempt);
}

/** Returns where the relay keeps a turn log. */
export function logKeyOf(state: Pick<LogState, "id" | "status" | "attempt" | "afterLoss">): LogKey {
  return { logId: state.id, attempt: logAttemptOf(state), afterLoss: state.afterLoss };
}
