import type { LanguageModel } from "ai";
import type { LoadedAgent } from "../../agents/load.ts";
import { type CompleteAgent, type MissingPart, missingOf } from "../../agents/runnable.ts";
import type { AgentConfig } from "../../agents/schema.ts";
import type { Ctx } from "../../kernel/context.ts";
import { defaultMessage, type ErrorCause } from "../../kernel/errors.ts";
import { withDecisions } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { PromptCache } from "../../model/prompt-cache.ts";
import { type ThinkingSettings, thinkingSettings } from "../../model/thinking.ts";
import { languageModel, type ModelProvider, openProvider } from "../../providers/client.ts";
import type { ModelSettings } from "../../providers/model-settings.ts";
import type { Progress } from "../end/progress.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { claimKeyOf } from "../state/claimed-turn.ts";
import type { PlacedMessage } from "../state/history.ts";
import type { TurnError } from "../state/turn-end.ts";
import { readHistory } from "../transcript/read-history.ts";
import type { ClaimUsage } from "./claim-usage.ts";
import { claimedWrite } from "./claimed-write.ts";
import { type Compacted, type CompactionRequest, compact, earlierText, tokensOf } from "./compact.ts";
import { type Equipment, equip } from "./equip.ts";
import { type GoingOn, goOnFrom } from "./go-on.ts";
import { reservedTokens, thinkingLevelOf, turnSettings } from "./turn-settings.ts";

/** Everything that a claim runs on. */
export interface PreparedTurn {
  readonly config: AgentConfig;
  readonly provider: ModelProvider;
  readonly model: string;
  readonly languageModel: LanguageModel;
  readonly thinking: ThinkingSettings;
  readonly settings: ModelSettings;
  /** Null: the agent does without the caches of vendors. */
  readonly cache: PromptCache | null;
  /** What system text and tools take of a model's window. */
  readonly fixedTokens: number;
  /** The system text. */
  readonly instructions: string;
  /** The transcript, with the user's message at its end or, for a continuation, the answer that is continued. */
  readonly messages: readonly UiMessage[];
  /** The answer a continuation extends, decisions included. */
  readonly extended: UiMessage | null;
  /** What the claim goes on from, where an earlier one was lost after a completed step. */
  readonly reached: GoingOn | null;
  readonly tools: Equipment["tools"];
}

/** What a claim begins with. */
export interface ClaimBegin {
  readonly usage: ClaimUsage;
  readonly signal: AbortSignal;
  /** How far the turn had come where an earlier claim was lost; null: it begins. */
  readonly progress: Progress | null;
}

/**
 * Returns what a claim runs on, or why it cannot run. What was checked at acceptance is
 * checked again: the agent or its provider may have been deleted since.
 */
export async function prepareTurn(
  ctx: Ctx,
  turn: ClaimedTurn,
  { usage, signal, progress }: ClaimBegin,
): Promise<PreparedTurn | TurnError> {
  const { agent } = turn;
  const runnable = runnableOf(ctx, agent);
  if ("code" in runnable) return runnable;
  usage.uses(runnable.provider, runnable.model);
  await usage.readPrices();
  const history = turn.history ?? (await turn.ahead) ?? (await readHistory(ctx.sql, turn));
  const equipment = await equip(
    {
      ctx,
      tenantId: turn.tenantId,
      agentId: turn.agentId,
      sessionId: turn.sessionId,
      turnId: turn.id,
      attempt: turn.attempt,
      userId: turn.userId,
      metadata: history.metadata,
      workspaceId: agent?.workspaceId ?? null,
      write: claimedWrite(ctx.sql, turn),
      hasSkills: agent?.hasSkills ?? false,
      hasMemories: agent?.hasMemories ?? false,
    },
    runnable.config,
    { hasCaller: turn.kind === "session", options: turn.callerOptions },
  );
  const { messages, summary, isCut, decisions } = history;
  const last = messages.at(-1);
  // A regeneration's unfinished answer is not part of the transcript yet; any other's is its last message.
  const stored = turn.keepSeq === null ? (last?.message ?? null) : turn.answer;
  const extended = turn.continuationId === null || stored === null ? null : withDecisions(stored, decisions);
  const before = extended !== null && turn.keepSeq === null ? messages.slice(0, -1) : messages;
  const reached = progress === null ? null : await goOnFrom(progress, turn.assistantMessageId, extended);
  const answer = reached?.prompt ?? extended;
  const placed = [
    ...before,
    ...(extended === null ? askedOf(turn) : []),
    ...(answer === null
      ? []
      : [{ seq: extended !== null && turn.keepSeq === null ? (last?.seq ?? null) : null, message: answer }]),
  ];
  const model = languageModel(ctx, runnable.provider, runnable.model);
  const asked = { model, summary, isCut, messages: placed, signal, meter: usage };
  const tools = equipment.tools.map(({ name, tool }) => `${name} ${tool.description ?? ""}`).join("\n");
  const fixedTokens = tokensOf(equipment.instructions) + tokensOf(tools);
  const compacted = await compactIfAsked(ctx, turn, runnable, { ...asked, fixedTokens });
  return {
    ...runnable,
    languageModel: model,
    thinking: thinkingSettings(runnable.provider.providerType, thinkingLevelOf(runnable.config, turn)),
    settings: turnSettings(runnable.provider, runnable.model, runnable.config, turn),
    cache:
      runnable.config.promptCaching === "off" ? null : { fixed: equipment.fixed, key: turn.sessionId ?? turn.agentId },
    fixedTokens,
    instructions: [equipment.instructions, compacted.earlier].filter((text) => text !== "").join("\n\n"),
    messages: compacted.messages,
    extended,
    reached,
    tools: equipment.tools,
  };
}

/** The user's message, or all messages of a stateless generation; they have no place in a transcript yet. */
function askedOf(turn: ClaimedTurn): PlacedMessage[] {
  const asked = turn.input === null ? [] : Array.isArray(turn.input) ? turn.input : [turn.input as UiMessage];
  return asked.map((message: UiMessage) => ({ seq: null, message }));
}

async function compactIfAsked(
  ctx: Ctx,
  turn: ClaimedTurn,
  { config, model: modelId }: Runnable,
  rest: Pick<CompactionRequest, "model" | "summary" | "isCut" | "messages" | "signal" | "meter" | "fixedTokens">,
): Promise<Compacted> {
  if (!config.autoCompaction || turn.sessionId === null) {
    const { summary, isCut, messages } = rest;
    return { earlier: earlierText(summary, isCut), messages: messages.map(({ message }) => message) };
  }
  return compact({
    ...rest,
    sql: ctx.sql,
    log: ctx.log,
    sessionId: turn.sessionId,
    claim: claimKeyOf(turn),
    modelId,
    reserveTokens: reservedTokens(modelId, config, turn),
  });
}

type Runnable = Pick<PreparedTurn, "config" | "provider" | "model">;

/** Why a turn that was accepted cannot run any more. */
const causeOfMissing = {
  agent: "not_found",
  version: "not_found",
  provider: "provider_not_found",
  "provider or model": "provider_required",
} as const satisfies Record<MissingPart, ErrorCause>;

function runnableOf(ctx: Ctx, agent: LoadedAgent | null): Runnable | TurnError {
  const missing = missingOf(agent, ctx.config.platformProvider !== null);
  if (missing !== null) {
    const isGone = missing === "agent" || missing === "version";
    return errorOf(causeOfMissing[missing], isGone ? "The agent does not exist any more." : undefined);
  }
  const { config, provider } = agent as CompleteAgent;
  return {
    config,
    provider: provider === null ? platformProvider(ctx) : openProvider(ctx, provider),
    model: config.model,
  };
}

/** Returns a turn's error by its cause. */
export function errorOf(code: ErrorCause, message?: string): TurnError {
  return { code, message: message ?? defaultMessage(code) };
}

/** The operator's own provider; only called where there is one. */
function platformProvider(ctx: Ctx): ModelProvider {
  return {
    id: null,
    tenantId: null,
    ...(ctx.config.platformProvider as NonNullable<typeof ctx.config.platformProvider>),
  };
}
