import { type LoadedAgent, loadAgentForTurn } from "../agents/load.ts";
import type { AgentConfig } from "../agents/schema.ts";
import type { Ctx } from "../context.ts";
import type { Sql } from "../db.ts";
import { defaultMessage, type ErrorCause } from "../errors.ts";
import { type ModelProvider, openProvider } from "../model/provider.ts";
import { type Equipment, equip } from "../tools/equip.ts";
import { type Decided, withDecisions } from "./calls.ts";
import type { UiMessage } from "./schema.ts";
import type { ClaimedTurn, TurnError } from "./turns.ts";

/** All that a claim runs on. */
export interface PreparedTurn {
  readonly config: AgentConfig;
  readonly provider: ModelProvider;
  readonly model: string;
  /** The transcript, with the user's message or, of a continuation, the answer that goes on at its end. */
  readonly messages: readonly UiMessage[];
  /** The answer a continuation extends, decisions included. */
  readonly extended: UiMessage | null;
  readonly equipment: Equipment;
}

/**
 * Reads what a claim runs on. Nothing from acceptance is trusted: the agent or
 * its provider may be gone by now, and then the turn fails with that cause.
 */
export async function prepareTurn(ctx: Ctx, turn: ClaimedTurn): Promise<PreparedTurn | TurnError> {
  const [agent, history, session, decisions] = await Promise.all([
    loadAgentForTurn(ctx.sql, turn.tenantId, turn.agentId, turn.agentVersion),
    turn.sessionId === null
      ? []
      : readTranscript(ctx.sql, turn.sessionId, turn.continuationId === null ? turn.keepSeq : null),
    turn.sessionId === null ? null : readSessionMetadata(ctx.sql, turn.sessionId),
    turn.continuationId === null ? [] : readDecisions(ctx.sql, turn.continuationId),
  ]);
  const runnable = checkRunnable(ctx, agent);
  if ("code" in runnable) return runnable;
  const equipment = await equip(
    {
      ctx,
      tenantId: turn.tenantId,
      agentId: turn.agentId,
      sessionId: turn.sessionId,
      turnId: turn.id,
      userId: turn.userId,
      metadata: session ?? turn.metadata,
      workspaceId: agent?.workspaceId ?? null,
    },
    runnable.config,
  );
  const stored = turn.continuationId === null ? null : (history.at(-1) ?? null);
  const extended = stored === null ? null : withDecisions(stored, decisions);
  const asked = turn.input === null ? [] : Array.isArray(turn.input) ? turn.input : [turn.input as UiMessage];
  const messages = extended === null ? [...history, ...asked] : [...history.slice(0, -1), extended];
  return { ...runnable, messages, extended, equipment };
}

function checkRunnable(
  ctx: Ctx,
  agent: LoadedAgent | null,
): Pick<PreparedTurn, "config" | "provider" | "model"> | TurnError {
  if (agent?.config == null) return errorOf("not_found", "The agent does not exist any more.");
  if (agent.providerMissing) return errorOf("provider_not_found");
  const provider = agent.provider === null ? platformProvider(ctx) : openProvider(ctx, agent.provider);
  if (provider === null || agent.config.model === null) return errorOf("provider_required");
  return { config: agent.config, provider, model: agent.config.model };
}

/** A turn's error by its cause. */
export function errorOf(code: ErrorCause, message?: string): TurnError {
  return { code, message: message ?? defaultMessage(code) };
}

function platformProvider(ctx: Ctx): ModelProvider | null {
  const platform = ctx.config.platformProvider;
  return platform === null ? null : { id: null, ...platform };
}

async function readTranscript(sql: Sql, sessionId: string, keepSeq: number | null): Promise<UiMessage[]> {
  const rows = await sql<{ content: UiMessage }[]>`
    select content from messages where session_id = ${sessionId} ${keepSeq === null ? sql`` : sql`and seq <= ${keepSeq}`} order by seq`;
  return rows.map((row) => row.content);
}

async function readSessionMetadata(sql: Sql, sessionId: string): Promise<Record<string, unknown>> {
  const [row] = await sql<
    { metadata: Record<string, unknown> }[]
  >`select metadata from sessions where id = ${sessionId}`;
  return row?.metadata ?? {};
}

async function readDecisions(sql: Sql, continuationId: string): Promise<Decided[]> {
  const rows = await sql<{ tool_call_id: string; status: string; reason: string | null }[]>`
    select tool_call_id, status, reason from approvals where continuation_id = ${continuationId}`;
  return rows.map((row) => ({ toolCallId: row.tool_call_id, approved: row.status === "approved", reason: row.reason }));
}
