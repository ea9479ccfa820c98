import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import type { ResponseFormat } from "../model/response-format.ts";
import type { CallerOptions } from "../sessions/state/caller-options.ts";
import type { TurnKind, TurnStatus } from "../sessions/state/turn.ts";
import type { TurnError } from "../sessions/state/turn-end.ts";
import type { LogStatus } from "../sessions/state/turn-log.ts";
import type { TurnStep } from "../sessions/state/turn-step.ts";
import { isVisible } from "../sessions/state/turn-view.ts";
import type { TokenCounts } from "../usage/tokens.ts";
import { logsOf, responseIdOf } from "./response-id.ts";

/** An approval of a pause. */
export interface AskedApproval {
  readonly id: IdOf<"approval">;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly status: "pending" | "approved" | "denied";
  readonly reason: string | null;
}

/** Where a turn stopped to ask: what it asked for, and the continuation that goes on. */
export interface AskedPause {
  readonly continuationId: IdOf<"continuation">;
  readonly status: LogStatus;
  readonly error: TurnError | null;
  readonly lastChunk: unknown;
  readonly callerOptions: CallerOptions | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly approvals: readonly AskedApproval[];
  readonly calls: readonly { readonly toolCallId: string; readonly tool: string; readonly status: string }[];
}

interface TurnRow extends TokenCounts {
  readonly turnId: IdOf<"turn">;
  readonly tenantId: IdOf<"tenant">;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session"> | null;
  readonly kind: TurnKind;
  readonly turnStatus: TurnStatus;
  readonly assistantMessageId: IdOf<"message">;
  readonly userId: string;
  readonly error: TurnError | null;
  readonly lastChunk: unknown;
  readonly callerOptions: CallerOptions | null;
  readonly responseFormat: ResponseFormat | null;
  readonly acceptedAt: Date;
  readonly finishedAt: Date | null;
  readonly steps: readonly TurnStep[] | null;
  readonly message: UiMessage | null;
}

/** A response as it is stored: its turn, and where that stopped to ask. */
export interface StoredResponse extends TurnRow {
  readonly id: IdOf<"response">;
  readonly pauses: readonly AskedPause[];
  /** How many of the pauses lie before this response. */
  readonly place: number;
}

/**
 * Returns a response of a tenant; null when there is none. A stateless generation is none, unless
 * its turn was just accepted (`isOwn`).
 */
export async function readResponse(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"response">,
  { isOwn = false } = {},
): Promise<StoredResponse | null> {
  const { turnId, continuationId } = logsOf(id);
  const [turn] = await sql<TurnRow[]>`
    select t.id as turn_id, t.tenant_id, t.agent_id, t.session_id, t.kind, t.status as turn_status, t.assistant_message_id, t.user_id,
      t.error, t.last_chunk, t.caller_options, t.response_format, t.accepted_at, t.finished_at, t.input_tokens, t.output_tokens,
      t.cached_input_tokens, t.cache_write_tokens, t.reasoning_tokens, t.steps, coalesce(t.answer, m.content) as message
    from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = coalesce((select turn_id from continuations where id = ${continuationId}), ${turnId})
      and t.tenant_id = ${tenantId} and t.kind in ('session' ${isOwn ? sql`, 'generate'` : sql``}) and ${isVisible(sql)}`;
  if (turn === undefined) return null;
  const pauses = await readPauses(sql, turn.turnId);
  const place = pauses.findIndex((pause) => pause.continuationId === continuationId) + 1;
  return { ...turn, id, pauses, place };
}

/** A response that is kept, and so of a session. */
export type StoredTurnResponse = StoredResponse & { readonly sessionId: IdOf<"session"> };

/** Returns a response of a tenant. Throws 404. */
export async function requireResponse(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"response">,
): Promise<StoredTurnResponse> {
  const found = await readResponse(sql, tenantId, id);
  if (found === null || found.sessionId === null) throw new ApiError("not_found");
  return { ...found, sessionId: found.sessionId };
}

/** Returns the pauses of a turn, oldest first. */
function readPauses(sql: AnySql, turnId: string): Promise<AskedPause[]> {
  return sql<AskedPause[]>`
    select c.id as continuation_id, c.status, c.error, c.last_chunk, c.caller_options, c.created_at, c.started_at, c.finished_at,
      coalesce((
        select json_agg(json_build_object('id', a.id, 'tool', a.tool, 'toolCallId', a.tool_call_id, 'input', a.input,
          'status', a.status, 'reason', a.reason) order by a.created_at, a.id)
        from approvals a where a.continuation_id = c.id
      ), '[]') as approvals,
      coalesce((
        select json_agg(json_build_object('toolCallId', k.tool_call_id, 'tool', k.tool, 'status', k.status) order by k.id)
        from client_calls k where k.continuation_id = c.id
      ), '[]') as calls
    from continuations c where c.turn_id = ${turnId} order by c.created_at, c.id`;
}

/**
 * Returns the response whose turn waits for the outputs of exactly these calls; null when none does, or more than one: a
 * provider's ids of calls need not be unique.
 */
export async function responseOfCalls(
  sql: AnySql,
  {
    tenantId,
    agentId,
    callIds,
  }: { readonly tenantId: string; readonly agentId: string; readonly callIds: readonly string[] },
): Promise<IdOf<"response"> | null> {
  const rows = await sql<{ turnId: IdOf<"turn"> }[]>`
    select k.turn_id from client_calls k join turns t on t.id = k.turn_id
    where k.tenant_id = ${tenantId} and k.status = 'pending' and t.agent_id = ${agentId} and t.status = 'waiting'
      and t.kind = 'session'
    group by k.turn_id
    having array_agg(k.tool_call_id order by k.tool_call_id) = ${callIds.toSorted()}::text[]
    limit 2`;
  const [row] = rows;
  return row === undefined || rows.length > 1 ? null : responseIdOf(row.turnId);
}

/** Returns the response in which an approval was asked for; null when the tenant has no such approval. */
export async function responseOfApproval(
  sql: AnySql,
  tenantId: string,
  approvalId: string,
): Promise<IdOf<"response"> | null> {
  const [row] = await sql<{ turnId: IdOf<"turn"> }[]>`
    select turn_id from approvals where id = ${approvalId} and tenant_id = ${tenantId}`;
  return row === undefined ? null : responseIdOf(row.turnId);
}
