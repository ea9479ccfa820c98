import { Reply } from "../../kernel/http/reply.ts";
import type { SettledPause } from "../pause/settle.ts";
import { logAttemptOf, logStates } from "../state/turn-log.ts";
import { type StreamContext, streamTurnLog, turnAsJson } from "./respond.ts";
import { withoutContent } from "./whole.ts";

/**
 * Returns the response to a message that settled something of a pause: 202 while something is
 * left to wait for; else the continuation's stream, or its message once it has ended.
 */
export async function respondWithPause(
  streams: StreamContext,
  { turnId, assistantMessageId, continuation, message }: SettledPause,
  { stream, request }: { readonly stream: boolean; readonly request: Request },
): Promise<Response | Reply> {
  const headers = { "X-Turn-Id": turnId };
  if (continuation.status === "waiting") return new Reply({ continuation }, { status: 202, headers });
  const [state] = await logStates(streams.ctx.sql, [continuation.id]);
  const attempt = state === undefined ? 1 : logAttemptOf(state);
  const before = message === null ? {} : { before: withoutContent(message) };
  const log = { logId: continuation.id, turnId, assistantMessageId, attempt, ...before };
  const options = { status: 200, headers, request };
  return stream ? streamTurnLog(streams, log, 0, options) : turnAsJson(streams, log, options);
}
