import type { AnySql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";

/** What a user said that the transcript does not hold yet, and the turn that is to answer it. */
export interface PendingMessage {
  readonly turnId: IdOf<"turn">;
  /** As the interface says it: a turn that waits in its session's line is `queued`. */
  readonly status: "queued" | "running" | "waiting";
  readonly message: UiMessage;
}

/** The turns of a session that have not ended. */
export interface UnfinishedTurns {
  /** The turn that is queued, running or waits for a person; null: none. */
  readonly activeTurnId: IdOf<"turn"> | null;
  /** Turns in the line behind it. */
  readonly queuedTurns: number;
  /** In the order in which they are answered. */
  readonly pending: readonly PendingMessage[];
}

/**
 * The messages that wait have at most this many bytes together beside the largest of them: a
 * session may have a hundred of 8 MiB. Those further back in the line are left out then.
 */
const pendingBytesMax = 4 * 1024 * 1024;

/**
 * Returns the one row of the unfinished turns of a session (`UnfinishedTurns`), to be used
 * as a lateral subquery or by itself.
 */
export function unfinishedTurnsSql(sql: AnySql, sessionId: ReturnType<AnySql> | string) {
  return sql`
    select max(id) filter (where not in_line) as active_turn_id, count(*) filter (where in_line)::int as queued_turns,
      coalesce(json_agg(json_build_object('turnId', id, 'status', status, 'message', said) order by place)
        filter (where said is not null and bytes <= ${pendingBytesMax}), '[]') as pending
    from (${weighedTurnsSql(sql, sessionId)}) weighed`;
}

/** Returns the rows of the unfinished turns, with what each said that is pending (`said`), and the bytes of these up to it beside the largest. */
function weighedTurnsSql(sql: AnySql, sessionId: ReturnType<AnySql> | string) {
  // Two halves, because each has a partial index of its own. What a turn said joins the transcript when it ends well or
  // first stops to ask; then it is no longer pending.
  return sql`
      select id, in_line, status, said, place,
        sum(octet_length(said::text)) over (order by place) - max(octet_length(said::text)) over (order by place) as bytes
      from (
        select id, in_line, case when in_line then 'queued' else status end as status,
          row_number() over (order by in_line, line_place) as place,
          case when not exists (
            select 1 from messages m where m.session_id = u.session_id and m.id = u.input ->> 'id'
              and (m.turn_id = u.id or u.trigger = 'regenerate-message')
          ) then u.input end as said
        from (
          select id, session_id, status, trigger, input, line_place, false as in_line from turns
          where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')
          union all
          select id, session_id, status, trigger, input, line_place, true from turns
          where session_id = ${sessionId} and status = 'enqueued'
        ) u
      ) placed`;
}

/**
 * Returns what users said in a session that its transcript does not hold yet, in order, as the JSON that is stored; null where that is
 * more than `bytesMax`.
 */
export async function pendingTexts(
  sql: AnySql,
  sessionId: string,
  bytesMax: number | null,
): Promise<readonly Uint8Array[] | null> {
  const rows = (await sql`
    select /* turn.read_question */ case when ${bytesMax}::int is null or whole <= ${bytesMax}::int then said end from (
      select said, place, sum(octet_length(said::text)) over () as whole from (${weighedTurnsSql(sql, sessionId)}) weighed
      where said is not null and bytes <= ${pendingBytesMax}
    ) fitting order by place`.raw()) as unknown as (Buffer | null)[][];
  const texts = rows.map(([said]) => said ?? null);
  return texts.every((said) => said !== null) ? texts : null;
}
