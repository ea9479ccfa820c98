/** Digits that a number holds for certain. */
export const numberDigitsMax = 15;

/** Returns decimal text with at most so many decimals as a whole number of its smallest units. */
export function unitsOf(text: string, decimals: number): bigint {
  const [whole = "0", behind = ""] = text.split(".");
  return BigInt(whole + behind.padEnd(decimals, "0"));
}
