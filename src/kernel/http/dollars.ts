import { type TSchema, Type } from "@sinclair/typebox";
import { numberDigitsMax, unitsOf } from "../decimals.ts";
import { invalid } from "../errors.ts";

/** A millionth of a millionth of a dollar is the smallest amount. */
export const dollarDecimals = 12;

/** Returns the field of an amount of US dollars: decimal text, or a number; what else holds of it is checked by `readDollars`. */
export function Dollars(max: number, what = "US dollars") {
  const wholeDigits = String(max).length;
  return Type.Union(
    [
      Type.String({ pattern: `^(0|[1-9]\\d{0,${wholeDigits - 1}})(\\.\\d{1,${dollarDecimals}})?$` }),
      Type.Number({ minimum: 0, maximum: max }),
    ],
    {
      errorMessage: `must be ${what}, as decimal text such as "2.50" or as a number, at most ${max}, with at most ${dollarDecimals} decimals`,
    },
  ) satisfies TSchema;
}

/**
 * Returns an amount as it is stored and shown again: text as it was sent, a number as the shortest text of it. Throws 400 for one
 * above `max`, and for a number that does not hold its digits for certain.
 */
export function readDollars(path: string, usd: string | number, max: number): string {
  if (Number(usd) > max) throw invalid(path, `must be at most ${max}`);
  if (typeof usd === "string") return usd;
  const shortest = String(usd);
  // A small number is written with an exponent.
  const text = shortest.includes("e") ? usd.toFixed(dollarDecimals).replace(/\.?0+$/, "") : shortest;
  const [whole = "", decimals = ""] = text.split(".");
  const digits = `${whole}${decimals}`.replace(/^0+/, "").length;
  if (Number(text) !== usd || digits > numberDigitsMax || decimals.length > dollarDecimals)
    throw invalid(path, `has more than ${numberDigitsMax} digits or ${dollarDecimals} decimals; send it as text`);
  return text;
}

/** Returns an amount as a whole number of its smallest units. */
export function dollarUnits(text: string): bigint {
  return unitsOf(text, dollarDecimals);
}
