import { countText } from "./moment.ts";

/** What something cost. */
export interface CostFields {
  /** Decimal text; null where no price is known. */
  readonly costUsd: string | null;
  /** Whether a price was known of all of it. */
  readonly costIsComplete: boolean;
}

/** Dollars as people read them: cents from ten of them on, and two figures of less; with "≥" where a part has no price. */
export function costText({ costUsd, costIsComplete }: CostFields): string {
  if (costUsd === null) return "–";
  return `${costIsComplete ? "" : "≥ "}${dollarText(costUsd)}`;
}

/** What a turn used, and whether it has ended. */
interface SoFar extends CostFields {
  readonly finishedAt: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The cost of a turn; “–” of one that runs and of which nothing was counted yet. */
export function costSoFar(turn: SoFar): string {
  return isUncounted(turn) ? "–" : costText(turn);
}

/** The tokens of a turn, by the same rule. */
export function tokensSoFar(turn: SoFar): string {
  return isUncounted(turn) ? "–" : countText(turn.inputTokens + turn.outputTokens);
}

/** Whether nothing is known yet of what a turn uses: it counts when a call of a model has ended. */
export function isUncounted({ finishedAt, inputTokens, outputTokens }: Omit<SoFar, keyof CostFields>): boolean {
  return finishedAt === null && inputTokens + outputTokens === 0;
}

/** An amount of dollars, which is decimal text. */
export function dollarText(usd: string): string {
  const amount = Number(usd);
  if (amount === 0) return "$0";
  if (amount < 0.00001) return "< $0.00001";
  if (amount >= 0.1) {
    return `$${amount.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  }
  return `$${amount.toLocaleString(undefined, { maximumSignificantDigits: 2 })}`;
}

/** The sum of amounts that are decimal text, exact to a millionth. */
export function sumUsd(amounts: readonly string[]): string {
  const micro = amounts.reduce((sum, amount) => sum + Math.round(Number(amount) * 1_000_000), 0);
  return String(micro / 1_000_000);
}
