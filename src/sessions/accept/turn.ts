import { loadAgentForTurn } from "../../agents/load.ts";
import { requireRunnable } from "../../agents/runnable.ts";
import { askedSize, requireRoom } from "../../kernel/admission/stored-bytes.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import { turnGate } from "../../kernel/auth/gates.ts";
import { isProven, noteProof, requireProof } from "../../kernel/auth/proof.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdempotencyKey } from "../../kernel/http/idempotency.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { currentTraceparent } from "../../kernel/telemetry/trace.ts";
import { merchantGuard } from "../../merchant/guard.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnBody } from "../schema.ts";
import type { CallerOptions } from "../state/caller-options.ts";
import { findSession } from "../state/store.ts";
import { type AcceptedTurn, acceptedOf, logAccepted } from "./accepted.ts";
import { enqueueTurn, isBusy } from "./enqueue.ts";
import type { PlainTurn } from "./insert.ts";
import { insertPlainTurnTogether } from "./insert-together.ts";
import { joinByKey } from "./join-by-key.ts";
import { isOwnLimit, queueOf, refuseIfFull, refuseWhileFull } from "./queued-turns.ts";
import { checkMessageId, checkTurnBody, messageOf } from "./turn-body.ts";
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
  /** The task's run that this turn is, and the version the run was started with. */
  readonly taskRun?: { readonly id: IdOf<"taskRun">; readonly agentVersion: number };
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
  const mayWait = request.sessionId !== null && (request.body.onBusy ?? "reject") !== "reject";
  // Only the statement of a plain turn looks an API key up.
  if (request.key !== null || mayWait) requireProof(request.principal);
  const joined = request.key === null ? null : await joinByKey(ctx.sql, ctx, request.key);
  if (joined !== null) return logAccepted(ctx, request, joined, "a repeated request joined its turn");
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
  const { principal, agentId, body } = request;
  turnGate(principal.tenant);
  await requireRoom(ctx.sql, principal.tenant, sizeOf(request));
  refuseWhileFull(ctx.sql, principal.tenant);
  const plain = await acceptPlain(ctx, request);
  if (plain !== null) return plain;
  requireProof(principal);
  const session =
    request.sessionId === null ? null : await findSession(ctx.sql, principal.tenant.id, agentId, request.sessionId);
  if (request.sessionId !== null && session === null) throw new ApiError("not_found");
  const version = session === null ? (body.version ?? null) : session.pinnedVersion;
  const runVersion = request.taskRun?.agentVersion ?? version;
  const agent = await loadAgentForTurn(ctx.sql, principal.tenant.id, agentId, runVersion);
  requireRunnable(agent, ctx.config.platformProvider !== null);
  await checkMessageId(ctx.sql, request.sessionId, body, { inLine: false });
  const message = await messageOf(ctx.sql, principal.tenant.id, body);
  await merchantGuard(ctx, principal.tenant, session?.userId ?? body.userId ?? "");
  const accepted = await writeTurn(ctx, request, {
    ...newTurn(request),
    taskRunId: request.taskRun?.id ?? null,
    newSession: session === null,
    pinnedVersion: version,
    agentVersion: agent.version,
    input: message,
    keepSeq: null,
  });
  return logAccepted(ctx, request, accepted, "turn accepted");
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
  await checkMessageId(ctx.sql, sessionId, body, { inLine: true });
  const turn = {
    ...newTurn(request),
    sessionId,
    input: body.message === undefined ? await messageOf(ctx.sql, tenant.id, body) : (body.message as UiMessage),
    regenerates: body.messageId ?? null,
  };
  const accepted = await enqueueTurn(ctx, request, turn, onBusy);
  return logAccepted(ctx, request, accepted, "turn accepted into the line of its session");
}

/** Returns the fields of a turn that depend on the request only. */
function newTurn(request: TurnRequest) {
  const { principal, body } = request;
  return {
    turnId: newId("turn"),
    ...queueOf(principal.tenant),
    agentId: request.agentId,
    sessionId: request.sessionId ?? request.newSessionId ?? newId("session"),
    kind: request.kind ?? "session",
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

/**
 * Accepts a turn that needs nothing but its session and its agent, in one round trip.
 * Returns null when it needs more, or when one of the two, or a key that it has to look up, does not allow it. Throws 409
 * `session_busy`, 429 `too_many_turns`.
 */
async function acceptPlain(ctx: Ctx, request: TurnRequest): Promise<AcceptedTurn | null> {
  const { principal, body, sessionId } = request;
  const { quotaTurnsPerDay, monetization } = principal.tenant;
  const alone = request.key === null && request.alongside === undefined && request.taskRun === undefined;
  if (!alone || quotaTurnsPerDay !== null || isOwnLimit(principal.tenant) || monetization || body.message === undefined)
    return null;
  if (body.trigger === "regenerate-message" || body.responseFormat !== undefined) return null;
  if (request.callerOptions !== undefined) return null;
  const turn: PlainTurn = {
    ...newTurn(request),
    newSession: sessionId === null,
    pinnedVersion: sessionId === null ? (body.version ?? null) : null,
    input: body.message as UiMessage,
    hasPlatformProvider: ctx.config.platformProvider !== null,
    recalled: isProven(principal) ? null : { key: principal.key, form: principal.tenant.form },
  };
  if (await insertPlainTurnTogether(ctx.sql, turn)) {
    noteProof(principal);
    return logAccepted(ctx, request, acceptedOf(turn), "turn accepted");
  }
  await refuseIfFull(ctx.sql, turn);
  return null;
}
