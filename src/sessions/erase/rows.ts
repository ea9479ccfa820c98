import type { Ctx } from "../../kernel/context.ts";
import type { AnySql, Sql, Tx } from "../../kernel/database/client.ts";
import { eraseByIndex, idsOf, type Pace, type SizedId, type SizedRow } from "../../kernel/database/pace.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { eraseResponses } from "../../kernel/http/erase-keys.ts";
import { hasLiveJobSql, jobKeySql } from "../../kernel/queue/add-job.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import { billTurn } from "../../merchant/after-turn.ts";
import { tellTurnEnded } from "../../webhooks/after-turn.ts";

/** What erasing needs: the rows, the turn logs, and how far this job may go. */
export interface EraseScope extends Pick<Ctx, "sql" | "relay"> {
  readonly pace: Pace;
}

/** What a run's error says once its session is erased: a provider's words may repeat what it was asked. */
const erasedRunText = "The run's session was deleted.";
/** The relay keeps a turn log for a far shorter time than this after its turn has ended, in milliseconds. */
const logsKeptMsMax = 24 * 60 * 60 * 1000;

/**
 * Marks sessions as deleted in which every turn has ended, so that no turn is accepted in
 * them any more, and returns their ids; with `unusedSince` those only in which no turn was
 * accepted since. A turn is accepted under the lock on its session's row.
 */
export function closeSessions(sql: Sql, ids: readonly string[], unusedSince: Date | null = null): Promise<string[]> {
  return tx(sql, async (inner) => {
    const used = unusedSince === null ? inner`` : inner`or t.accepted_at >= ${unusedSince}`;
    await inner`select 1 from sessions where id = any(${ids as string[]}) order by id for no key update`;
    // A second statement, because the first one's snapshot may be older than its locks.
    const rows = await inner<{ id: string }[]>`
      update sessions s set deleted_at = coalesce(deleted_at, now())
      where id = any(${ids as string[]}) and line = 0 and not exists (
        select 1 from turns t where t.session_id = s.id and (t.status in ('queued', 'running', 'waiting') ${used}))
      returning id`;
    return rows.map(({ id }) => id);
  });
}

/**
 * Erases closed sessions (`closeSessions`) for good: transcripts, summaries, approvals, calls of client tools,
 * continuations, turns, turn logs, what was posted of them, and at last the sessions.
 * Usage and billing stay, without the metadata of the caller. Safe to repeat.
 */
export async function eraseSessions(scope: EraseScope, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { sql, pace } = scope;
  const sessions = ids as string[];
  await eraseByIndex(
    scope,
    (inner, rows) => inner<(SizedRow & { sessionId: string; seq: string })[]>`
      select session_id, seq::text, pg_column_size(content) as bytes from messages
      where session_id = any(${sessions}) limit ${rows}`,
    (rows) => sql`
      delete from messages m using unnest(${rows.map((row) => row.sessionId)}::text[], ${rows.map((row) => row.seq)}::bigint[])
        as gone (session_id, seq)
      where m.session_id = gone.session_id and m.seq = gone.seq`,
  );
  await eraseById(scope, "approvals", "coalesce(pg_column_size(input), 0)", sessions);
  await eraseById(scope, "client_calls", "coalesce(pg_column_size(input), 0)", sessions);
  await eraseById(scope, "chat_deliveries", "coalesce(pg_column_size(parts), 0)", sessions);
  await eraseTurns(scope, (inner, rows) => {
    return inner<TurnOfScan[]>`
      ${turnColumns(inner)} where session_id = any(${sessions}) and ${ended(inner)} limit ${rows}`;
  });
  await eraseResponses(sql, sessions, pace);
  await tx(sql, async (inner) => {
    // A worker that was thought to be lost writes a summary under a lock on the session's row.
    await inner`delete from sessions where id = any(${sessions})`;
    await inner`delete from session_summaries where session_id = any(${sessions})`;
  });
}

/** Erases the stateless generations of an agent that have ended; with `before` those accepted before that moment. Safe to repeat. */
export function eraseGenerations(scope: EraseScope, agentId: string, before: Date | null = null): Promise<void> {
  return eraseTurns(scope, (inner, rows) => {
    const old = before === null ? inner`` : inner`and accepted_at < ${before}`;
    return inner<TurnOfScan[]>`
      ${turnColumns(inner)} where agent_id = ${agentId} and session_id is null ${old} and ${ended(inner)} limit ${rows}`;
  });
}

type TurnOfScan = SizedId & { attempt: number; logged: boolean };

function turnColumns(sql: AnySql) {
  return sql`
    select id, attempt, finished_at > now() - ${logsKeptMsMax} * interval '1 millisecond' as logged,
      coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(answer), 0) + coalesce(pg_column_size(last_chunk), 0)
        + coalesce(pg_column_size(response_format), 0) + coalesce(pg_column_size(caller_options), 0) as bytes
    from turns`;
}

function ended(sql: AnySql) {
  return sql`status in ('succeeded', 'failed', 'canceled')`;
}

/** Erases turns with their logs and continuations; the turns last, because they lead to the rest. */
function eraseTurns(
  scope: EraseScope,
  scan: (inner: Tx, rows: number) => Promise<readonly TurnOfScan[]>,
): Promise<void> {
  const { sql, relay } = scope;
  return eraseByIndex(scope, scan, async (turns) => {
    const ids = idsOf(turns);
    await tellFirst(sql, ids);
    await relay.erase(
      await turnLogs(
        sql,
        turns.filter(({ logged }) => logged),
      ),
    );
    await sql`delete from continuations where turn_id = any(${ids})`;
    await sql`delete from turn_checkpoints where turn_id = any(${ids})`;
    await sql`
        update task_runs set prompt = '', metadata = '{}', response_format = null, error = case when error is not null
          then json_build_object('code', error ->> 'code', 'message', ${erasedRunText}::text) end
        where turn_id = any(${ids})`;
    await sql`update usage set metadata = '{}' where turn_id = any(${ids}) and metadata::text <> '{}'`;
    await sql`delete from turns where id = any(${ids})`;
  });
}

/** Tells webhooks and the billing provider of the ends of those turns of which the job `turn.after` has not told them yet: it would find nothing any more. */
async function tellFirst(sql: Sql, ids: readonly string[]): Promise<void> {
  const untold = await sql<{ id: string }[]>`
    select id from unnest(${ids as string[]}::text[]) as erased (id) where ${hasLiveJobSql(sql, jobKeySql(sql, "turn.after", sql`erased.id`))}`;
  for (const { id } of untold) {
    await tellTurnEnded(sql, id);
    await billTurn(sql, id, null);
  }
}

/** Returns every turn log that a turn may have. */
export async function turnLogsOf(sql: Sql, turnId: string): Promise<LogKey[]> {
  return turnLogs(sql, await sql<LoggedTurn[]>`select id, attempt from turns where id = ${turnId}`);
}

type LoggedTurn = Pick<TurnOfScan, "id" | "attempt">;

/** Returns every turn log that some turns may have: each claim has its own, and so has the end of one that nobody claimed. */
async function turnLogs(sql: Sql, turns: readonly LoggedTurn[]): Promise<LogKey[]> {
  if (turns.length === 0) return [];
  const continuations = await sql<{ id: string; attempt: number }[]>`
    select c.id, t.attempt from continuations c join turns t on t.id = c.turn_id
    where c.turn_id = any(${turns.map(({ id }) => id)})`;
  return [...turns, ...continuations].flatMap(({ id, attempt }) =>
    Array.from({ length: attempt + 1 }, (_, before) => ({ logId: id, attempt: before + 1 })),
  );
}

/** Erases the rows of a table that belong to some sessions and have an id. `bytes` is the SQL of a row's size. */
function eraseById(
  scope: EraseScope,
  table: "approvals" | "client_calls" | "chat_deliveries",
  bytes: string,
  sessions: string[],
): Promise<void> {
  const { sql } = scope;
  const name = sql.unsafe(table);
  return eraseByIndex(
    scope,
    (inner, rows) => inner<SizedId[]>`
      select id, ${inner.unsafe(bytes)} as bytes from ${name} where session_id = any(${sessions}) limit ${rows}`,
    (rows) => sql`delete from ${name} where id = any(${idsOf(rows)})`,
  );
}
