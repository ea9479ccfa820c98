import { dollarDecimals, dollarUnits, readDollars } from "../kernel/http/dollars.ts";
import { type BudgetMeasure, type LimitAsked, limitUsdMax } from "./schema.ts";

/** How much, in the unit in which a budget of this measure is counted: turns, tokens, or picodollars, as a whole number in text. */
export interface Amount {
  readonly measure: BudgetMeasure;
  readonly amount: string;
  /** Money as it was asked for; null or left out where it was not. */
  readonly usd?: string | null;
}

/** An amount as it is shown: money as decimal text, so that nothing of it is lost. */
export type ShownAmount = number | string;

/** Returns the limit that was asked for. Throws 400 for a number with more digits than are certain. */
export function readLimitAmount({ turns, tokens, usd = 0 }: LimitAsked): Amount {
  if (turns !== undefined) return { measure: "turns", amount: String(turns), usd: null };
  if (tokens !== undefined) return { measure: "tokens", amount: String(tokens), usd: null };
  const text = readDollars("/limit/usd", usd, limitUsdMax);
  return { measure: "usd", amount: dollarUnits(text).toString(), usd: text };
}

/** Returns an amount as it is shown: a limit as it was asked for. */
export function showAmount({ measure, amount, usd = null }: Amount): ShownAmount {
  if (measure !== "usd") return Number(amount);
  // A process of the version before changes the amount alone.
  return usd !== null && dollarUnits(usd).toString() === amount ? usd : toDollars(amount);
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
