import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";

/** The turn of a busy session, and what it waits for: its model, a person's decision, the result of a client tool, or its place in the line. */
interface BusyTurn {
  readonly turnId: string;
  readonly status: "queued" | "running" | "waiting";
  readonly waitsFor: "model" | "approval" | "tool" | "line";
}

/** Returns whether a turn of the session is unfinished, or waits in its line. */
export async function isBusy(sql: AnySql, sessionId: string): Promise<boolean> {
  const [busy] = await sql`
    select /* session.is_busy */ 1 from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')
    union all select 1 from sessions where id = ${sessionId} and line > 0 limit 1`;
  return busy !== undefined;
}

/** Returns the error 409 `session_busy` with the turn that the session waits for; without details where that has ended meanwhile. */
export async function sessionBusy(sql: AnySql, sessionId: string): Promise<ApiError> {
  const [details] = await sql<BusyTurn[]>`
    select /* session.busy_turn */ id as turn_id, case status when 'enqueued' then 'queued' else status end as status,
      case when status = 'enqueued' then 'line' when status <> 'waiting' then 'model'
        when exists (select 1 from approvals a where a.continuation_id = u.continuation_id and a.status = 'pending') then 'approval'
        else 'tool' end as waits_for
    from (
      select id, status, continuation_id, 0 as place from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')
      union all
      (select id, status, continuation_id, line_place from turns where session_id = ${sessionId} and status = 'enqueued' order by line_place limit 1)
    ) u order by status = 'enqueued' limit 1`;
  return new ApiError("session_busy", details === undefined ? {} : { details: { ...details } });
}

/** Returns an error, with `sessionBusy`'s details where it says that the session is busy and has none. */
export async function withBusyTurn(sql: AnySql, sessionId: string | null, error: unknown): Promise<unknown> {
  if (!(error instanceof ApiError) || error.reason !== "session_busy" || error.details !== undefined) return error;
  if (sessionId === null) return error;
  // What is said beside the error is not worth another one.
  return sessionBusy(sql, sessionId).catch(() => error);
}
