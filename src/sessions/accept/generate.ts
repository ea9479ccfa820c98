import type { Static } from "@sinclair/typebox";
import { loadAgentForTurn } from "../../agents/load.ts";
import { requireRunnable } from "../../agents/runnable.ts";
import { askedSize, requireRoom } from "../../kernel/admission/stored-bytes.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import { turnGate } from "../../kernel/auth/gates.ts";
import type { Ctx } from "../../kernel/context.ts";
import { invalid } from "../../kernel/errors.ts";
import type { IdempotencyKey } from "../../kernel/http/idempotency.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { currentTraceparent } from "../../kernel/telemetry/trace.ts";
import { merchantGuard } from "../../merchant/guard.ts";
import { checkParts, checkPictureCount, type UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import { checkResponseFormat } from "../response-format.ts";
import type { Generate } from "../schema.ts";
import type { CallerOptions } from "../state/caller-options.ts";
import { type AcceptedTurn, logAccepted } from "./accepted.ts";
import { acceptOnce, joinByKey } from "./join-by-key.ts";
import { queueOf, refuseWhileFull } from "./queued-turns.ts";
import { writeTurn } from "./write.ts";

/**
 * Returns the messages of a stateless generation, each with an id. Throws 400 when the
 * last one is not the user's, or a part breaks the rules of a turn.
 */
export function checkGenerateMessages(messages: Static<typeof Generate>["messages"]): UiMessage[] {
  const last = messages.length - 1;
  if (messages[last]?.role !== "user")
    throw invalid(`/messages/${last}/role`, "must be user: the last message is what is answered");
  for (const [index, { role, parts }] of messages.entries()) {
    if (role === "user") checkParts(parts, `/messages/${index}/parts`);
    else checkAssistantParts(parts, `/messages/${index}/parts`);
  }
  return messages.map((message) => ({ ...message, id: message.id ?? newId("message") }));
}

/**
 * Checks an assistant's parts, which this service or the client made: each has a type, and
 * texts are strings. Throws 400.
 */
function checkAssistantParts(parts: readonly unknown[], pointer: string): void {
  for (const [index, part] of parts.entries()) {
    if (typeof part !== "object" || part === null || Array.isArray(part))
      throw invalid(`${pointer}/${index}`, "must be an object");
    const { type, text } = part as { type?: unknown; text?: unknown };
    if (typeof type !== "string") throw invalid(`${pointer}/${index}/type`, "must be text");
    if (type === "text" && typeof text !== "string") throw invalid(`${pointer}/${index}/text`, "must be text");
  }
  checkPictureCount(parts, pointer);
}

/** A request for a stateless generation. */
export interface GenerationRequest {
  readonly principal: Principal;
  readonly agentId: IdOf<"agent">;
  readonly messages: readonly UiMessage[];
  readonly version: number | null;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly responseFormat: ResponseFormat | null;
  /** Null: the agent as it is. */
  readonly callerOptions: CallerOptions | null;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
}

/** Accepts a stateless generation: a turn without a session, after the same checks. Throws as `acceptTurn`. */
export async function acceptGeneration(ctx: Ctx, request: GenerationRequest): Promise<AcceptedTurn> {
  const joined = request.key === null ? null : await joinByKey(ctx, request.key);
  if (joined !== null) return logAccepted(ctx, request, joined, "a repeated request joined its turn");
  return acceptOnce(ctx, request, () => acceptNew(ctx, request));
}

async function acceptNew(ctx: Ctx, request: GenerationRequest): Promise<AcceptedTurn> {
  checkResponseFormat(request.responseFormat);
  const { principal, agentId } = request;
  turnGate(principal.tenant);
  const { tenant } = principal;
  const { messages, metadata, responseFormat, callerOptions } = request;
  await requireRoom(ctx.sql, tenant, askedSize(tenant, [messages, metadata, metadata, responseFormat, callerOptions]));
  refuseWhileFull(ctx.sql, principal.tenant);
  const agent = await loadAgentForTurn(ctx.sql, principal.tenant.id, agentId, request.version);
  requireRunnable(agent, ctx.config.platformProvider !== null);
  await merchantGuard(ctx, principal.tenant, request.userId);
  const accepted = await writeTurn(ctx, request, {
    turnId: newId("turn"),
    ...queueOf(principal.tenant),
    agentId,
    sessionId: null,
    kind: "generate",
    newSession: false,
    visible: false,
    pinnedVersion: null,
    agentVersion: agent.version,
    trigger: "submit-message",
    input: request.messages,
    key: request.key,
    regenerates: null,
    recalled: null,
    hasPlatformProvider: ctx.config.platformProvider !== null,
    keepSeq: null,
    assistantMessageId: newId("message"),
    userId: request.userId,
    metadata: request.metadata,
    responseFormat: request.responseFormat,
    callerOptions: request.callerOptions,
    requestId: request.requestId,
    traceparent: currentTraceparent(),
    writeBefore: principal.writeBefore,
  });
  return logAccepted(ctx, request, accepted, "turn accepted");
}
