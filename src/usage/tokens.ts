import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";

/** The tokens of one model call. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input, what the vendor had in its cache. */
  readonly cachedInputTokens: number;
  /** Of the input, what the vendor put into its cache. */
  readonly cacheWriteTokens: number;
  /** Of the output, what was thought and not said. */
  readonly reasoningTokens: number;
}

/** No tokens. */
export const noTokens: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

/** The counts by name. */
export const tokenCountNames = Object.keys(noTokens) as readonly (keyof TokenCounts)[];

/** Returns the counts of two usages together; `sign` -1: what is left of the first without the second. */
export function addTokens(one: TokenCounts, other: TokenCounts, sign: 1 | -1 = 1): TokenCounts {
  return {
    inputTokens: one.inputTokens + sign * other.inputTokens,
    outputTokens: one.outputTokens + sign * other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + sign * other.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + sign * other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + sign * other.reasoningTokens,
  };
}

/** What usage costs. */
export interface Cost {
  /** Of what has a price, in millionths of a millionth of a US dollar, so that the price of a token is a whole number; null where nothing has one. */
  readonly costPico: number | null;
  /** Whether all of it has a price. */
  readonly costComplete: boolean;
}

/** Nothing was used, and it cost nothing. */
export const noCost: Cost = { costPico: null, costComplete: true };

/** Returns what two usages cost together. */
export function addCost(one: Cost, other: Cost): Cost {
  const isKnown = one.costPico !== null || other.costPico !== null;
  return {
    costPico: isKnown ? (one.costPico ?? 0) + (other.costPico ?? 0) : null,
    costComplete: one.costComplete && other.costComplete,
  };
}

/** A cost as it is shown. */
export interface ShownCost {
  /** US dollars as decimal text; null where no price is known. */
  readonly costUsd: string | null;
  readonly costIsComplete: boolean;
}

/** Returns a cost as it is shown, of the sums of a row: what used nothing cost nothing. */
export function showCost(row: {
  readonly costUsd: string | null;
  readonly costComplete: boolean | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}): ShownCost {
  if (row.costUsd !== null) return { costUsd: row.costUsd, costIsComplete: row.costComplete ?? false };
  const isFree = row.costComplete !== false && row.inputTokens + row.outputTokens === 0;
  return { costUsd: isFree ? "0" : null, costIsComplete: isFree };
}

/** Returns a cost in picodollars as decimal text in dollars. */
export function inDollars(sql: AnySql, picos: postgres.Fragment): postgres.Fragment {
  return sql`trim_scale(${picos} * 0.000000000001)::text`;
}
