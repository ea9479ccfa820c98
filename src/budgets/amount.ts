import { unitsOf } from "../kernel/decimals.ts";
import { invalid } from "../kernel/errors.ts";
import { type BudgetMeasure, dollarDecimals, hasCertainDigits, type LimitAsked } from "./schema.ts";

/** How much, in the unit in which a budget of this measure is counted: turns, tokens, or picodollars, as a whole number in text. */
export interface Amount {
  readonly measure: BudgetMeasure;
  readonly amount: string;
}

/** An amount as it is shown: money as decimal text, so that nothing of it is lost. */
export type ShownAmount = number | string;

/** Returns the limit that was asked for. Throws 400 for a number with more digits than are certain. */
export function readLimitAmount({ turns, tokens, usd }: LimitAsked): Amount {
  if (turns !== undefined) return { measure: "turns", amount: String(turns) };
  if (tokens !== undefined) return { measure: "tokens", amount: String(tokens) };
  if (typeof usd === "number" && !hasCertainDigits(usd))
    throw invalid("/limit/usd", "has more digits than a number holds; send it as text");
  const dollars = typeof usd === "number" ? usd.toFixed(dollarDecimals) : (usd ?? "0");
  return { measure: "usd", amount: unitsOf(dollars, dollarDecimals).toString() };
}

/** Returns an amount as it is shown. */
export function showAmount({ measure, amount }: Amount): ShownAmount {
  return measure === "usd" ? toDollars(amount) : Number(amount);
}

/** Returns a limit as it is shown. */
export function showLimit(limit: Amount): { readonly [Measure in BudgetMeasure]?: ShownAmount } {
  return { [limit.measure]: showAmount(limit) };
}

function toDollars(picos: string): string {
  const digits = picos.padStart(dollarDecimals + 1, "0");
  const decimals = digits.slice(-dollarDecimals).replace(/0+$/, "");
  return `${digits.slice(0, -dollarDecimals)}${decimals === "" ? "" : `.${decimals}`}`;
}
