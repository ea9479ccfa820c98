import type { WaitingCall } from "../console-shapes/words.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { newerThan, placeInTime } from "../kernel/database/keyset.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";

interface WaitingRow extends Omit<WaitingCall, "createdAt"> {
  createdAt: Date;
  id: string;
  at: string;
}

/** A longer input as JSON is left out of the list. */
const inputCharactersMax = 16_384;

/** Which calls a page holds. */
interface WaitingFilter {
  readonly agentIds: AgentIds;
  readonly agentId: string | undefined;
  readonly tool: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/**
 * Returns a page of everything that waits for a person in a tenant, oldest first, or of that what is of an agent or a
 * tool. Throws 400 `invalid_cursor`. Each `limit 1` keeps the planner to one probe of an index, whatever it believes of the tables.
 */
export async function listWaitingCalls(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { agentIds, agentId, tool, cursor, limit }: WaitingFilter,
): Promise<Page<WaitingCall>> {
  const list = JSON.stringify(["waiting", agentId ?? null, tool ?? null]);
  const place = readTimeCursor(list, cursor);
  const chosen = sql`${agentId === undefined ? sql`` : sql`and t.agent_id = ${agentId}`} ${tool === undefined ? sql`` : sql`and w.tool = ${tool}`}`;
  const after = newerThan(sql, place, "w.created_at", "w.id");
  const rows = await sql<WaitingRow[]>`
    select w.kind, w.session_id, t.agent_id, a.name as agent_name, w.turn_id, t.user_id, w.approval_id, w.tool_call_id, w.tool,
      case when length(w.input::text) <= ${inputCharactersMax} then w.input end as input,
      coalesce(length(w.input::text) > ${inputCharactersMax}, false) as input_is_left_out,
      w.assistant_message_id, w.created_at, w.id, ${placeInTime(sql, "w.created_at")}
    from (
      select 'approval' as kind, id, id as approval_id, session_id, turn_id, tool_call_id, tool, input, assistant_message_id, created_at
      from approvals where tenant_id = ${tenantId} and status = 'pending'
      union all
      select 'client_tool', 'call_' || lpad(id::text, 20, '0'), null, session_id, turn_id, tool_call_id, tool, input, assistant_message_id, created_at
      from client_calls where tenant_id = ${tenantId} and status = 'pending'
    ) w
    cross join lateral (
      select agent_id, user_id from turns
      where id = w.turn_id and status = 'waiting' and cancel_requested_at is null limit 1) t
    cross join lateral (select name from agents where id = t.agent_id limit 1) a
    where (select deleted_at is null from sessions where id = w.session_id) ${andOf(sql, sql`t.agent_id`, agentIds)} ${chosen} ${after}
    order by w.created_at, w.id limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}

function show({ id: _id, at: _at, createdAt, ...call }: WaitingRow): WaitingCall {
  return { ...call, createdAt: createdAt.toISOString() };
}
