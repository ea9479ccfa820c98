import type { AnySql, Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { CallResult } from "../../messages/tool-calls.ts";
import { settleMove } from "../state/continuation.ts";
import { type Continuation, continuationById, latestContinuation } from "./continuations.ts";
import { applySettled, type Pause } from "./pause.ts";

/** A call of a tool that the caller runs (docs/decisions/client-tools.md). */
export interface ClientToolCall {
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly turnId: IdOf<"turn">;
  readonly assistantMessageId: IdOf<"message">;
  readonly status: "pending" | "done" | "failed";
  readonly createdAt: string;
}

/** A call's row. */
export interface ClientCallRow extends Pause {
  readonly id: string;
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly status: ClientToolCall["status"];
  readonly createdAt: Date;
}

/** A session has at most this many calls listed: the newest. */
const callsListedMax = 1_000;

/** Returns the calls of client tools of a session (the newest `callsListedMax`, oldest first) and its latest continuation. */
export async function listClientCalls(
  sql: AnySql,
  sessionId: string,
): Promise<{ toolCalls: ClientToolCall[]; continuation: Continuation | null }> {
  const [rows, continuation] = await Promise.all([
    sql<ClientCallRow[]>`
      select /* call.list */ * from (
        select * from client_calls where session_id = ${sessionId} order by id desc limit ${callsListedMax}
      ) newest order by id`,
    latestContinuation(sql, sessionId),
  ]);
  return { toolCalls: rows.map(showCall), continuation };
}

/**
 * Gives the result of one call, once (`POST
 * /v1/agents/:agentId/sessions/:sessionId/tool-calls/:toolCallId`); of calls with the same id the
 * newest is meant. The last one of a message queues its continuation, in the same transaction.
 * The lock on the turn's row makes the second of two at the same time see the first.
 *
 * Returns the call and its continuation. Throws 404, and 409 `tool_call_settled` when it has
 * its result already, or nobody waits for one any more.
 */
export async function settleCall(
  inner: Tx,
  sessionId: string,
  result: CallResult,
): Promise<{ toolCall: ClientToolCall; continuation: Continuation }> {
  const [found] = await inner<ClientCallRow[]>`
    select /* call.find */ * from client_calls where session_id = ${sessionId} and tool_call_id = ${result.toolCallId}
    order by id desc limit 1`;
  if (found === undefined) throw new ApiError("not_found");
  await inner`select /* turn.lock_row */ 1 from turns where id = ${found.turnId} for no key update`;
  const [call] = await inner<ClientCallRow[]>`${settleMove(inner, found.id, "output" in result)}`;
  if (call === undefined) throw new ApiError("tool_call_settled");
  await applySettled(inner, call, { decisions: [], results: [result] });
  return { toolCall: showCall(call), continuation: await continuationById(inner, call.continuationId) };
}

function showCall(row: ClientCallRow): ClientToolCall {
  return {
    toolCallId: row.toolCallId,
    tool: row.tool,
    input: row.input,
    turnId: row.turnId,
    assistantMessageId: row.assistantMessageId,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
  };
}
