import { callTokensMax } from "../kernel/limits.ts";
import type { TokenCounts } from "../usage/tokens.ts";

/** What a provider says that a model call used. Its numbers are the provider's, so they may be anything. */
export interface SaidUsage {
  readonly inputTokens?: unknown;
  readonly outputTokens?: unknown;
  readonly cachedInputTokens?: unknown;
  readonly cacheWriteTokens?: unknown;
  readonly reasoningTokens?: unknown;
}

/** What one model call used. */
export interface CallUsage extends TokenCounts {
  /** Whether the provider did not say it all, so that a count is an estimate. */
  readonly estimated: boolean;
}

/** The UTF-8 bytes of a model call: what was sent, and what came of its answer. */
export interface CallBytes {
  readonly sent: number;
  readonly came: number;
}

/** Four bytes of text make a token on average. */
const bytesPerToken = 4;

/** Returns the estimated tokens of a number of UTF-8 bytes. */
export function estimatedTokens(bytes: number): number {
  return Math.min(callTokensMax, Math.ceil(bytes / bytesPerToken));
}

/**
 * Returns the token counts that a provider says. What is no whole number from 0 to
 * `callTokensMax` counts as if the provider had not said it: a tenant chooses its
 * providers, and a negative count would raise its usage credit. Nor does a 0 say anything
 * where bytes were sent, or came: the vendors' clients make a 0 of a count that is missing.
 * What is not said is estimated; of a part, it is 0.
 */
export function callUsage(said: SaidUsage, bytes: () => CallBytes): CallUsage {
  const input = countOf(said.inputTokens);
  const output = countOf(said.outputTokens);
  if (input && output) return { ...withParts(input, output, said), estimated: false };
  const { sent, came } = bytes();
  return {
    ...withParts(input || estimatedTokens(sent), output || estimatedTokens(came), said),
    estimated: !isSaid(input, sent) || !isSaid(output, came),
  };
}

/** A part is never larger than its whole, nor are the two parts of the input together. */
function withParts(inputTokens: number, outputTokens: number, said: SaidUsage): TokenCounts {
  const cachedInputTokens = Math.min(countOf(said.cachedInputTokens) ?? 0, inputTokens);
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens: Math.min(countOf(said.cacheWriteTokens) ?? 0, inputTokens - cachedInputTokens),
    reasoningTokens: Math.min(countOf(said.reasoningTokens) ?? 0, outputTokens),
  };
}

function isSaid(count: number | null, bytes: number): boolean {
  return count === 0 ? bytes === 0 : count !== null;
}

/** Returns the token counts that a provider says; 0 for those that it does not. */
export function tokenCounts(said: SaidUsage): TokenCounts {
  return withParts(countOf(said.inputTokens) ?? 0, countOf(said.outputTokens) ?? 0, said);
}

/** Returns a count, or null for what is none. */
function countOf(said: unknown): number | null {
  if (!Number.isInteger(said)) return null;
  const count = said as number;
  return count >= 0 && count <= callTokensMax ? count : null;
}

/** A usage in the form of the vendors' clients, any part of which may be missing. */
interface ClientUsage {
  readonly inputTokens?: { readonly total?: unknown; readonly cacheRead?: unknown; readonly cacheWrite?: unknown };
  readonly outputTokens?: { readonly total?: unknown; readonly reasoning?: unknown };
  readonly raw?: { readonly prompt_tokens_details?: { readonly cache_write_tokens?: unknown } | null };
}

/** Returns what a vendor's client hands on of what its provider says. */
export function saidUsage(usage: unknown): SaidUsage {
  const { inputTokens, outputTokens, raw } = (usage ?? {}) as ClientUsage;
  return {
    inputTokens: inputTokens?.total,
    outputTokens: outputTokens?.total,
    cachedInputTokens: inputTokens?.cacheRead,
    // The client for any server that speaks OpenAI's protocol (`@ai-sdk/openai-compatible` 3.0.92) hands it on as it came.
    cacheWriteTokens: inputTokens?.cacheWrite ?? raw?.prompt_tokens_details?.cache_write_tokens,
    reasoningTokens: outputTokens?.reasoning,
  };
}
