import { countText } from "../parts/moment.ts";
import { amountText, type BudgetUnit, usedShare } from "./budget-words.ts";

interface UsedBarProps {
  readonly unit: BudgetUnit;
  readonly used: number | string;
  readonly limit: number | string;
  readonly warnAtPercent: number | null;
}

/** How much of a budget is used: a bar, and the amounts. */
export function UsedBar({ unit, used, limit, warnAtPercent }: UsedBarProps) {
  const share = usedShare(used, limit);
  const warnAt = (warnAtPercent ?? 100) / 100;
  const tone = share >= 1 ? "bad" : share >= warnAt ? "warn" : "good";
  return (
    <span className="used-bar">
      <span className="used-track" aria-hidden="true">
        <i className={tone} style={{ inlineSize: `${100 * share}%` }} />
      </span>
      <span>
        {unit === "usd" ? amountText(unit, used) : countText(Number(used))} of {amountText(unit, limit)}
      </span>
    </span>
  );
}
