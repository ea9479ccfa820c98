import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { findSession } from "../state/store.ts";
import { activeTurn } from "../state/turn.ts";
import { logAttemptOf, logStates } from "../state/turn-log.ts";
import { type StreamContext, streamTurnLog } from "./respond.ts";

interface JoinInput {
  readonly sql: AnySql;
  readonly tenantId: string;
  readonly params: { readonly agentId: string; readonly sessionId: string };
  readonly request: Request;
}

/**
 * Returns the response that streams the running turn's events, from the first or after
 * `Last-Event-ID`; 204 when nothing runs (docs/decisions.md, "Streams"). Throws 404
 * `not_found`.
 */
export async function joinTurn(
  streams: StreamContext,
  { sql, tenantId, params, request }: JoinInput,
): Promise<Response> {
  const session = await findSession(sql, tenantId, params.agentId, params.sessionId);
  if (session === null) throw new ApiError("not_found");
  const turn = await activeTurn(sql, params.sessionId);
  if (turn === null || turn.status === "waiting") return new Response(null, { status: 204 });
  const [log] = await logStates(sql, [turn.continuationId ?? turn.id]);
  if (log === undefined) return new Response(null, { status: 204 });
  const followed = {
    logId: log.id,
    turnId: turn.id,
    assistantMessageId: log.assistantMessageId,
    attempt: logAttemptOf(log),
  };
  return streamTurnLog(streams, followed, eventAfter(request, log.id), {
    status: 200,
    headers: { "X-Turn-Id": turn.id },
    request,
  });
}

/** Returns the number of the event after `Last-Event-ID`; 0, the whole sequence, when there is none or it is another log's. */
export function eventAfter(request: Request, logId: string): number {
  const [log, number] = (request.headers.get("last-event-id") ?? "").split(":");
  return log === logId && /^\d{1,9}$/.test(number ?? "") ? Number(number) + 1 : 0;
}
