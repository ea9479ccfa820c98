/** What something cost. */
export interface CostFields {
  /** Decimal text; null where no price is known. */
  readonly costUsd: string | null;
  /** Whether a price was known of all of it. */
  readonly costIsComplete: boolean;
}

/** Dollars as people read them: cents from a dollar on, and two figures of less; with "≥" where a part has no price. */
export function costText({ costUsd, costIsComplete }: CostFields): string {
  if (costUsd === null) return "–";
  return `${costIsComplete ? "" : "≥ "}${dollarText(costUsd)}`;
}

/** An amount of dollars, which is decimal text. */
export function dollarText(usd: string): string {
  const amount = Number(usd);
  if (amount === 0) return "$0";
  if (amount < 0.00001) return "< $0.00001";
  if (amount >= 1) {
    return `$${amount.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  }
  return `$${amount.toLocaleString(undefined, { maximumSignificantDigits: 2 })}`;
}

/** The sum of amounts that are decimal text, exact to a millionth. */
export function sumUsd(amounts: readonly string[]): string {
  const micro = amounts.reduce((sum, amount) => sum + Math.round(Number(amount) * 1_000_000), 0);
  return String(micro / 1_000_000);
}
