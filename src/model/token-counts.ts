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

/**
 * Returns the token counts that a provider says. What is no whole number from 0 to
 * `callTokensMax` counts as 0, as if the provider had not said it: a tenant chooses its
 * providers, and a negative count would raise its usage credit.
 */
export function tokenCounts({ inputTokens, outputTokens }: SaidUsage): TokenCounts {
  return { inputTokens: countOf(inputTokens), outputTokens: countOf(outputTokens) };
}

function countOf(said: unknown): number {
  if (!Number.isInteger(said)) return 0;
  const count = said as number;
  return count > 0 && count <= callTokensMax ? count : 0;
}
