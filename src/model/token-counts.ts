import { callTokensMax } from "../kernel/limits.ts";

/** The tokens of one model call. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a provider says that a model call used. Its numbers are the provider's, so they may be anything. */
export interface SaidUsage {
  readonly inputTokens?: unknown;
  readonly outputTokens?: unknown;
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
 * What is not said is estimated.
 */
export function callUsage({ inputTokens, outputTokens }: SaidUsage, bytes: () => CallBytes): CallUsage {
  const input = countOf(inputTokens);
  const output = countOf(outputTokens);
  if (input && output) return { inputTokens: input, outputTokens: output, estimated: false };
  const { sent, came } = bytes();
  return {
    inputTokens: input || estimatedTokens(sent),
    outputTokens: output || estimatedTokens(came),
    estimated: !isSaid(input, sent) || !isSaid(output, came),
  };
}

function isSaid(count: number | null, bytes: number): boolean {
  return count === 0 ? bytes === 0 : count !== null;
}

/** Returns the token counts that a provider says; 0 for those that it does not. */
export function tokenCounts({ inputTokens, outputTokens }: SaidUsage): TokenCounts {
  return { inputTokens: countOf(inputTokens) ?? 0, outputTokens: countOf(outputTokens) ?? 0 };
}

/** Returns a count, or null for what is none. */
function countOf(said: unknown): number | null {
  if (!Number.isInteger(said)) return null;
  const count = said as number;
  return count >= 0 && count <= callTokensMax ? count : null;
}
