import { loadAgentForTurn } from "../../agents/load.ts";
import { requireRunnable } from "../../agents/runnable.ts";
import { askedSize, requireRoom } from "../../kernel/admission/stored-bytes.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import { turnGate } from "../../kernel/auth/gates.ts";
import { isProven, requireProof } from "../../kernel/auth/proof.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdempotencyKey } from "../../kernel/http/idempotency.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { currentTraceparent } from "../../kernel/telemetry/trace.ts";
import { merchantGuard } from "../../merchant/guard.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnBody } from "../schema.ts";
import { isBusy, withBusyTurn } from "../state/busy.ts";
import type { CallerOptions } from "../state/caller-options.ts";
import { findSession } from "../state/store.ts";
import { type AcceptedTurn, logAccepted } from "./accepted.ts";
import { enqueueTurn } from "./enqueue.ts";
import { acceptOnce, joinByKey } from "./join-by-key.ts";
import { queueOf, refuseWhileFull } from "./queued-turns.ts";
import { checkMessageId, checkTurnBody, messageOf } from "./turn-body.ts";
import type { NewTurn } from "./turn-row.ts";
import { writeTurn } from "./write.ts";

/** When a new session becomes visible: with its first accepted turn (form B), or with its first success (form A). */
export type Materialize = "on_accept" | "on_success";

/** A request for a turn, from HTTP, a task or a chat app. */
export interface TurnRequest {
  readonly principal: Principal;
  readonly agentId: IdOf<"agent">;
  /** Null: a new session. */
  readonly sessionId: IdOf<"session"> | null;
  /** The id of the new session, where something of it is stored already. */
  readonly newSessionId?: IdOf<"session">;
  readonly body: TurnBody & { readonly version?: number };
  readonly materialize: Materialize;
  /** Left out: the agent as it is. */
  readonly callerOptions?: CallerOptions;
  readonly kind?: "session" | "task" | "chat";
  /** The version that the turn runs; left out: its session's. */
  readonly agentVersion?: number;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
  /** Writes more in the accepting transaction; when it throws, nothing is written. */
  readonly alongside?: (inner: Tx, accepted: AcceptedTurn) => Promise<void>;
}

/**
 * Accepts a turn: checks everything that can be checked before it runs, then
 * writes session, turn and job in one transaction (docs/decisions/turns.md).
 *
 * Throws 400, 402, 403 (the merchant guard's), 404 (also for a task's run that is not
 * queued any more), 409 `session_busy` or `agent_disabled`, 422 `idempotency_key_reused`,
 * 429 `quota_exceeded` or `too_many_turns`, 503; then nothing is written.
 */
export async function acceptTurn(ctx: Ctx, asked: TurnRequest): Promise<AcceptedTurn> {
  const request = { ...asked, body: withoutMark(asked.body) };
  const { principal, key } = request;
  const needsReads = mayWait(request) || asksBefore(request);
  // Only the statement that writes a turn looks an API key up.
  if (needsReads) requireProof(principal);
  const joined = needsReads && key !== null ? await joinByKey(ctx, key) : null;
  if (joined !== null) return logAccepted(ctx, request, joined, "a repeated request joined its turn");
  return acceptOnce(ctx, request, async () => {
    try {
      return await acceptUnlessBusy(ctx, request);
    } catch (error) {
      throw await withBusyTurn(ctx.sql, request.sessionId, error);
    }
  });
}

/** Returns whether a turn may wait in the line of its session. */
function mayWait({ sessionId, body }: TurnRequest): boolean {
  return sessionId !== null && (body.onBusy ?? "reject") !== "reject";
}

/** Returns whether something is asked or rendered for the turn before it is written. */
function asksBefore({ principal, body }: TurnRequest): boolean {
  return principal.tenant.monetization || principal.tenant.storedMib !== null || body.promptId !== undefined;
}

async function acceptUnlessBusy(ctx: Ctx, request: TurnRequest): Promise<AcceptedTurn> {
  checkTurnBody(request.body, request.sessionId !== null);
  const waiting = await acceptIntoLine(ctx, request);
  if (waiting !== null) return waiting;
  try {
    return await acceptNow(ctx, request);
  } catch (error) {
    // Another turn was accepted just before.
    if (!(error instanceof ApiError) || error.reason !== "session_busy") throw error;
    const late = await acceptIntoLine(ctx, request, { isSure: true });
    if (late === null) throw error;
    return late;
  }
}

/** Returns the body with its message as it is stored. */
function withoutMark(body: TurnRequest["body"]): TurnRequest["body"] {
  if (body.message?.pending === undefined) return body;
  const { pending: _pending, ...said } = body.message;
  return { ...body, message: said };
}

/** Accepts a turn that starts now. Throws as `acceptTurn`. */
async function acceptNow(ctx: Ctx, request: TurnRequest): Promise<AcceptedTurn> {
  const { principal, body } = request;
  turnGate(principal.tenant);
  await requireRoom(ctx.sql, principal.tenant, sizeOf(request));
  refuseWhileFull(ctx.sql, principal.tenant);
  const message = asksBefore(request)
    ? await checkedMessage(ctx, request)
    : await messageOf(ctx.sql, principal.tenant.id, body);
  const accepted = await writeTurn(ctx, request, { ...newTurn(ctx, request), input: message });
  return logAccepted(ctx, request, accepted, "turn accepted");
}

/** Returns the turn's message. Throws what the statement that writes the turn would say of its session and its agent, because that comes first; then as `messageOf` and the merchant's guard. */
async function checkedMessage(ctx: Ctx, request: TurnRequest): Promise<UiMessage | null> {
  const { principal, agentId, sessionId, body } = request;
  const { tenant } = principal;
  const session = sessionId === null ? null : await findSession(ctx.sql, tenant.id, agentId, sessionId);
  if (sessionId !== null && session === null) throw new ApiError("not_found");
  const version = request.agentVersion ?? (session === null ? (body.version ?? null) : session.pinnedVersion);
  requireRunnable(await loadAgentForTurn(ctx.sql, tenant.id, agentId, version), ctx.config.platformProvider !== null);
  await checkMessageId(ctx.sql, sessionId, body);
  const message = await messageOf(ctx.sql, tenant.id, body);
  await merchantGuard(ctx, tenant, session?.userId ?? body.userId ?? "");
  return message;
}

/** Returns the bytes that a turn is asked with; the metadata is kept with the turn, its usage, and a new session. */
function sizeOf({ principal, sessionId, body, callerOptions }: TurnRequest): number {
  const { message = null, metadata = {}, responseFormat = null } = body;
  const copies = sessionId === null ? [metadata, metadata, metadata] : [metadata, metadata];
  return askedSize(principal.tenant, [message, ...copies, responseFormat, callerOptions ?? null]);
}

/**
 * Accepts a turn into the line of its session, where the request asks for that and the
 * session is busy (`isSure`: it was a moment ago); null where it does not, or is not.
 */
async function acceptIntoLine(ctx: Ctx, request: TurnRequest, { isSure = false } = {}): Promise<AcceptedTurn | null> {
  const { principal, agentId, sessionId, body } = request;
  const { onBusy = "reject" } = body;
  if (onBusy === "reject" || sessionId === null) return null;
  if (!isSure && !(await isBusy(ctx.sql, sessionId))) return null;
  const { tenant } = principal;
  if (tenant.deleting) throw new ApiError("tenant_deleting");
  await requireRoom(ctx.sql, tenant, sizeOf(request));
  refuseWhileFull(ctx.sql, tenant);
  if ((await findSession(ctx.sql, tenant.id, agentId, sessionId)) === null) throw new ApiError("not_found");
  const turn = {
    ...newTurn(ctx, request),
    sessionId,
    input: body.message === undefined ? await messageOf(ctx.sql, tenant.id, body) : (body.message as UiMessage),
    regenerates: body.messageId ?? null,
  };
  const accepted = await enqueueTurn(ctx, request, turn, onBusy);
  return logAccepted(ctx, request, accepted, "turn accepted into the line of its session");
}

/** Returns the fields of a turn that depend on the request only. */
function newTurn(ctx: Ctx, request: TurnRequest): Omit<NewTurn, "input"> {
  const { principal, sessionId, body } = request;
  return {
    turnId: newId("turn"),
    ...queueOf(principal.tenant),
    agentId: request.agentId,
    sessionId: request.sessionId ?? request.newSessionId ?? newId("session"),
    kind: request.kind ?? "session",
    newSession: sessionId === null,
    pinnedVersion: sessionId === null ? (body.version ?? null) : null,
    agentVersion: request.agentVersion ?? null,
    keepSeq: null,
    key: request.key,
    regenerates: null,
    recalled: isProven(principal) ? null : { key: principal.key, form: principal.tenant.form },
    hasPlatformProvider: ctx.config.platformProvider !== null,
    visible: request.materialize === "on_accept",
    trigger: body.trigger ?? "submit-message",
    assistantMessageId: newId("message"),
    userId: body.userId ?? "",
    metadata: body.metadata ?? {},
    responseFormat: body.responseFormat ?? null,
    callerOptions: request.callerOptions ?? null,
    requestId: request.requestId,
    traceparent: currentTraceparent(),
    writeBefore: principal.writeBefore,
  };
}
