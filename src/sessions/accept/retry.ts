import type { Principal } from "../../kernel/auth/authenticator.ts";
import type { Ctx } from "../../kernel/context.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdempotencyKey } from "../../kernel/http/idempotency.ts";
import { newId } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnBody } from "../schema.ts";
import { type AskedTurn, answeredAnew, findAsked } from "../state/asked.ts";
import { sessionBusy } from "../state/busy.ts";
import type { AcceptedTurn } from "./accepted.ts";
import { acceptTurn } from "./turn.ts";

/** A request to run a turn again. */
interface RetryRequest {
  readonly principal: Principal;
  readonly turnId: string;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
}

/**
 * Accepts a turn that asks what a turn asked which failed or was canceled: the same message, schema, user and options, in
 * the same session. Where the transcript has the message, because something of the turn was kept, it is asked once more
 * after that, under its own id.
 *
 * Throws 404, 409 `turn_not_failed`, and as `acceptTurn`.
 */
export async function retryTurn(ctx: Ctx, request: RetryRequest): Promise<AcceptedTurn> {
  const { principal, turnId, requestId, key } = request;
  const asked = await findAsked(ctx.sql, principal.tenant.id, turnId);
  const { agentId, sessionId, status, callerOptions } = asked;
  const isOver = status === "failed" || status === "canceled";
  if (!isOver || sessionId === null || !asked.isOpen) throw new ApiError("turn_not_failed");
  const body = await bodyOf(ctx, asked);
  const options = callerOptions === null ? {} : { callerOptions };
  try {
    return await acceptTurn(ctx, {
      ...{ principal, agentId, sessionId, body, requestId, key, materialize: "on_accept" },
      ...options,
    });
  } catch (error) {
    // Another one has run it again in the meantime.
    if (error instanceof ApiError && isTaken(error)) throw await sessionBusy(ctx.sql, sessionId);
    throw error;
  }
}

/** Returns whether an error says that the session has a message with the id of this one. */
function isTaken({ reason, details }: ApiError): boolean {
  const issues = (details?.issues ?? []) as readonly { readonly path: string }[];
  return reason === "validation_failed" && issues.some(({ path }) => path === "/message/id");
}

async function bodyOf({ sql }: Pick<Ctx, "sql">, asked: AskedTurn): Promise<TurnBody> {
  const { sessionId, userId, metadata, responseFormat, input } = asked;
  const same = { userId, metadata, ...(responseFormat === null ? {} : { responseFormat }) } as TurnBody;
  if (asked.isRegeneration && input === null) {
    const question = await answeredAnew(sql, asked);
    if (question === null) throw new ApiError("message_not_found");
    return { ...same, trigger: "regenerate-message", messageId: question.id };
  }
  const message = input as UiMessage | null;
  if (message === null) throw new ApiError("not_found", { message: "What this turn was asked is not kept any more." });
  const [held] = await sql`
    select /* message.exists */ 1 from messages where session_id = ${sessionId} and id = ${message.id} limit 1`;
  const id = held === undefined ? message.id : newId("message");
  return { ...same, message: { ...message, id } } as TurnBody;
}
