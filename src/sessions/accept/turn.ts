import { type LoadedAgent, loadAgentForTurn } from "../../agents/load.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import { quotaExceeded, turnGate } from "../../kernel/auth/gates.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { AnySql, Sql, Tx } from "../../kernel/database/client.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { isCommitUnsure, tx } from "../../kernel/database/transaction.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import { type IdempotencyKey, keepTurn, recallKey, waitForKey } from "../../kernel/http/idempotency.ts";
import { newId } from "../../kernel/ids.ts";
import { databaseWaitMs } from "../../kernel/limits.ts";
import { currentTraceparent } from "../../kernel/telemetry/trace.ts";
import { merchantGuard } from "../../merchant/guard.ts";
import { checkParts, type UiMessage } from "../../messages/ui-message.ts";
import { renderPrompt } from "../../prompts/render.ts";
import type { TurnBody } from "../schema.ts";
import { findSession } from "../state/store.ts";
import { logAttemptOf, logStates } from "../state/turn-log.ts";
import { insertTurn, insertTurnAlone, type NewTurn, type PlainTurn } from "./insert.ts";
import { insertPlainTurnTogether } from "./insert-together.ts";
import { findKeepSeq } from "./regenerate.ts";

/** When a new session can be seen: with its first accepted turn (form B), or with its first success (form A). */
export type Materialize = "on_accept" | "on_success";

/** A turn somebody asks for, through whichever door. */
export interface TurnRequest {
  readonly principal: Principal;
  readonly agentId: string;
  /** Null makes a session. */
  readonly sessionId: string | null;
  readonly body: TurnBody & { readonly version?: number };
  readonly materialize: Materialize;
  readonly kind?: "session" | "task" | "chat";
  /** The task's run that this turn is, and the version the run was started with. */
  readonly taskRun?: { readonly id: string; readonly agentVersion: number };
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
  /** What else the accepting transaction writes; when it throws, nothing is written. */
  readonly alongside?: (inner: Tx, accepted: AcceptedTurn) => Promise<void>;
}

/** A turn that will run: the rows and the job are committed. */
export interface AcceptedTurn {
  readonly turnId: string;
  readonly sessionId: string | null;
  readonly assistantMessageId: string;
  /** The claim whose log is to be followed: 0, unless an Idempotency-Key joined a turn that is under way. */
  readonly attempt: number;
}

/**
 * Accepts a turn: checks everything that can be checked before it runs, then
 * writes session, turn and job in one transaction (document 1, "Sessions").
 *
 * Throws 400, 402, 403 (the merchant guard's), 404 (also for a task's run that is
 * not queued any more), 409 `session_busy` or `agent_disabled`, 429
 * `quota_exceeded`, 503; then nothing is written.
 */
export async function acceptTurn(ctx: Ctx, request: TurnRequest): Promise<AcceptedTurn> {
  const joined = request.key === null ? null : await joinByKey(ctx.sql, ctx, request.key);
  if (joined !== null) return logAccepted(ctx, request, joined, "a repeated request joined its turn");
  const { principal, agentId, body } = request;
  checkTurnBody(body, request.sessionId !== null);
  turnGate(principal.tenant);
  const plain = await acceptPlain(ctx, request);
  if (plain !== null) return plain;
  const session =
    request.sessionId === null ? null : await findSession(ctx.sql, principal.tenant.id, agentId, request.sessionId);
  if (request.sessionId !== null && session === null) throw new ApiError("not_found");
  const version = session === null ? (body.version ?? null) : session.pinnedVersion;
  const runVersion = request.taskRun?.agentVersion ?? version;
  const agent = await loadAgentForTurn(ctx.sql, principal.tenant.id, agentId, runVersion);
  checkRunnable(ctx, agent);
  const message = await messageOf(ctx.sql, principal.tenant.id, body);
  await merchantGuard(ctx, principal.tenant, session?.userId ?? body.userId ?? "");
  const accepted = await write(ctx, request, {
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

/** What a turn's row has of its request alone. */
function newTurn(request: TurnRequest) {
  const { principal, body } = request;
  return {
    turnId: newId("turn"),
    tenantId: principal.tenant.id,
    agentId: request.agentId,
    sessionId: request.sessionId ?? newId("session"),
    kind: request.kind ?? "session",
    visible: request.materialize === "on_accept",
    trigger: body.trigger ?? "submit-message",
    assistantMessageId: newId("message"),
    userId: body.userId ?? "",
    metadata: body.metadata ?? {},
    requestId: request.requestId,
    traceparent: currentTraceparent(),
    writeBefore: principal.writeBefore,
  };
}

/**
 * Accepts a turn that needs nothing but its session and its agent, in one round
 * trip. Null when it needs more, or one of the two does not allow it.
 */
async function acceptPlain(ctx: Ctx, request: TurnRequest): Promise<AcceptedTurn | null> {
  const { principal, body, sessionId } = request;
  const { quotaTurnsPerDay, monetization } = principal.tenant;
  const alone = request.key === null && request.alongside === undefined && request.taskRun === undefined;
  if (!alone || quotaTurnsPerDay !== null || monetization || body.message === undefined) return null;
  if (body.trigger === "regenerate-message") return null;
  const turn: PlainTurn = {
    ...newTurn(request),
    newSession: sessionId === null,
    pinnedVersion: sessionId === null ? (body.version ?? null) : null,
    input: body.message as UiMessage,
    hasPlatformProvider: ctx.config.platformProvider !== null,
  };
  const written = await insertPlainTurnTogether(ctx.sql, turn);
  return written ? logAccepted(ctx, request, acceptedOf(turn), "turn accepted") : null;
}

/** A stateless generation somebody asks for. */
export interface GenerationRequest {
  readonly principal: Principal;
  readonly agentId: string;
  readonly messages: readonly UiMessage[];
  readonly version: number | null;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
}

/** Accepts a stateless generation: a turn without a session, behind the same gates. */
export async function acceptGeneration(ctx: Ctx, request: GenerationRequest): Promise<AcceptedTurn> {
  const joined = request.key === null ? null : await joinByKey(ctx.sql, ctx, request.key);
  if (joined !== null) return logAccepted(ctx, request, joined, "a repeated request joined its turn");
  const { principal, agentId } = request;
  turnGate(principal.tenant);
  const agent = await loadAgentForTurn(ctx.sql, principal.tenant.id, agentId, request.version);
  checkRunnable(ctx, agent);
  await merchantGuard(ctx, principal.tenant, request.userId);
  const accepted = await write(ctx, request, {
    turnId: newId("turn"),
    tenantId: principal.tenant.id,
    agentId,
    sessionId: null,
    kind: "generate",
    taskRunId: null,
    newSession: false,
    visible: false,
    pinnedVersion: null,
    agentVersion: agent.version,
    trigger: "submit-message",
    input: request.messages,
    keepSeq: null,
    assistantMessageId: newId("message"),
    userId: request.userId,
    metadata: request.metadata,
    requestId: request.requestId,
    traceparent: currentTraceparent(),
    writeBefore: principal.writeBefore,
  });
  return logAccepted(ctx, request, accepted, "turn accepted");
}

/** The line that leads from a request's id to its turn; the worker's lines carry both ids too. */
function logAccepted(
  { log }: Ctx,
  { requestId, principal, agentId }: Pick<TurnRequest, "requestId" | "principal" | "agentId">,
  accepted: AcceptedTurn,
  what: string,
): AcceptedTurn {
  const { turnId, sessionId } = accepted;
  log.info({ requestId, turnId, sessionId, tenantId: principal.tenant.id, agentId }, what);
  return accepted;
}

/** Rules of the turn body that tie fields together (document 1, "Turn body"). */
function checkTurnBody(body: TurnBody, resumes: boolean): void {
  if (body.variables !== undefined && body.promptId === undefined)
    throw invalid("/variables", "is allowed only with promptId");
  if (body.message !== undefined) checkParts(body.message.parts, "/message/parts");
  if (body.trigger === "regenerate-message") {
    if (!resumes) throw invalid("/trigger", "a new session has nothing to regenerate");
    if (body.promptId !== undefined) throw invalid("/promptId", "is not allowed with a regeneration");
    return;
  }
  if (body.messageId !== undefined) throw invalid("/messageId", "is allowed only with a regeneration");
  if (body.message === undefined && body.promptId === undefined)
    throw invalid("/message", "is required, or promptId in its place");
  if (body.message !== undefined && body.promptId !== undefined)
    throw invalid("/promptId", "and message exclude each other");
}

/** Whether an agent can run a turn now. Throws 404, 409 or, without a provider and model, 400 (A: 502). */
function checkRunnable(ctx: Ctx, agent: LoadedAgent | null): asserts agent is LoadedAgent {
  if (agent === null) throw new ApiError("not_found");
  if (agent.config === null) throw new ApiError("version_missing_for_run");
  if (agent.status === "disabled") throw new ApiError("agent_disabled");
  if (agent.providerMissing) throw new ApiError("provider_missing_for_turn");
  const hasProvider = agent.provider !== null || ctx.config.platformProvider !== null;
  if (!hasProvider || agent.config.model === null) throw new ApiError("provider_required");
  if (agent.config.tools.includes("workspace") && agent.workspaceId === null)
    throw new ApiError("sandbox_required_for_turn");
}

/** The user's message: as sent, or a prompt rendered to text; null for a regeneration. */
async function messageOf(sql: AnySql, tenantId: string, body: TurnBody): Promise<UiMessage | null> {
  if (body.trigger === "regenerate-message") return null;
  if (body.promptId === undefined) return body.message as UiMessage;
  const text = await renderPrompt(sql, tenantId, body.promptId, body.variables ?? {});
  return { id: newId("message"), role: "user", parts: [{ type: "text", text }] };
}

/** Writes the turn: one statement where that is enough, a transaction where a quota, a key or a cut has to be settled with it. */
async function write(
  ctx: Ctx,
  { principal, key, ...request }: Pick<TurnRequest, "principal" | "key" | "alongside"> & { body?: TurnBody },
  turn: NewTurn,
): Promise<AcceptedTurn> {
  const quota = principal.tenant.quotaTurnsPerDay;
  const accepted = acceptedOf(turn);
  if (quota === null && key === null && turn.input !== null && request.alongside === undefined) {
    await insertTurnAlone(ctx.sql, turn);
    return accepted;
  }
  return acceptInTransaction(ctx.sql, turn, key, async (inner) => {
    if (key !== null) {
      await waitForKey(inner, key);
      const joined = await joinByKey(inner, ctx, key);
      if (joined !== null) return joined;
    }
    const keepSeq = turn.input === null ? await findKeepSeq(inner, turn, request.body ?? {}) : null;
    if (quota !== null) await countTowardsQuota(inner, turn.tenantId, quota);
    await insertTurn(inner, { ...turn, keepSeq });
    await request.alongside?.(inner, accepted);
    if (key !== null) await keepTurn(inner, key, turn.turnId);
    return accepted;
  });
}

/** A lookup after a broken commit gets at least this long, however late the commit broke. */
const lookUpMs = 1_000;

/**
 * Runs the accepting transaction. When its connection breaks in the commit, nobody
 * knows whether that was done: then the turn is looked for by its id, behind the
 * locks that an unfinished commit still holds. A 503 in its place would be for a
 * turn that runs.
 */
async function acceptInTransaction(
  sql: Sql,
  { sessionId }: NewTurn,
  key: IdempotencyKey | null,
  accept: (inner: Tx) => Promise<AcceptedTurn>,
): Promise<AcceptedTurn> {
  const startedAt = Date.now();
  const answers: AcceptedTurn[] = [];
  try {
    return await tx(sql, async (inner) => {
      answers[0] = await accept(inner);
      return answers[0];
    });
  } catch (error) {
    const [answer] = answers;
    if (answer === undefined || !isCommitUnsure(error)) throw error;
    const lookUp = () =>
      tx(sql, async (inner) => {
        if (key !== null) await waitForKey(inner, key);
        await inner`select 1 from sessions where id = ${sessionId} for no key update`;
        return inner`select 1 from turns where id = ${answer.turnId}`;
      });
    const limitMs = Math.max(lookUpMs, databaseWaitMs - (Date.now() - startedAt));
    const found = await retryWhileUnavailable(lookUp, { limitMs }).catch(() => []);
    if (found.length === 0) throw error;
    return answer;
  }
}

function acceptedOf(turn: Pick<NewTurn, "turnId" | "sessionId" | "assistantMessageId">): AcceptedTurn {
  const { turnId, sessionId, assistantMessageId } = turn;
  return { turnId, sessionId, assistantMessageId, attempt: 0 };
}

/** The turn a repeated Idempotency-Key stands for; null when the key is new. Throws 422 when it stood for something else. */
async function joinByKey(sql: AnySql, ctx: Ctx, key: IdempotencyKey): Promise<AcceptedTurn | null> {
  const known = await recallKey(sql, ctx.sealer, key);
  if (known === null) return null;
  if (known.turnId === null) throw new ApiError("idempotency_key_reused");
  const [log] = await logStates(sql, [known.turnId]);
  if (log === undefined) return null;
  const [row] = await sql<{ sessionId: string | null }[]>`select session_id from turns where id = ${known.turnId}`;
  return {
    turnId: log.id,
    sessionId: row?.sessionId ?? null,
    assistantMessageId: log.assistantMessageId,
    attempt: logAttemptOf(log),
  };
}

/** Counts one turn of the UTC day. Throws 429 when the day's are used up; the count is the lock. */
async function countTowardsQuota(inner: Tx, tenantId: string, quota: number): Promise<void> {
  const rows = await inner`
    insert into turn_quota_days as q (tenant_id, day, turns)
    select ${tenantId}, (now() at time zone 'UTC')::date, 1 where ${quota} > 0
    on conflict (tenant_id, day) do update set turns = q.turns + 1 where q.turns < ${quota}
    returning turns`;
  if (rows.length === 0) throw quotaExceeded(new Date());
}
