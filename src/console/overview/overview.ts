/** What `GET /console/api/overview` responds with: a range in parts, its sums and those of the time before, and the turns of now. */
export interface Overview {
  readonly from: string;
  readonly to: string;
  readonly parts: readonly OverviewPart[];
  readonly whole: TurnSums;
  readonly before: TurnSums;
  readonly causes: readonly { readonly code: string; readonly message: string; readonly count: number }[];
  readonly now: {
    readonly queued: number;
    readonly running: number;
    readonly waiting: number;
    readonly waitingSince: string | null;
  };
}

/** What turns came to. */
export interface TurnSums {
  readonly accepted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  readonly firstTextMsP50: number | null;
  readonly firstTextMsP95: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The turns that were accepted in one part of the range. */
export interface OverviewPart extends TurnSums {
  readonly at: string;
}

/** The ranges: the name in the address and at the service, in words, what the time before is called, and the same in the list of turns. */
export const rangeChoices = [
  { name: "hour", label: "1 hour", before: "the hour before", since: "hour" },
  { name: "day", label: "24 hours", before: "the day before", since: "day" },
  { name: "week", label: "7 days", before: "the week before", since: "week" },
] as const;

/** The share of turns that ended well among those that ended by themselves; null where none did. */
export function successShare({ succeeded, failed }: TurnSums): number | null {
  const ended = succeeded + failed;
  return ended === 0 ? null : succeeded / ended;
}

/** A share in percent: whole ones only where they are exact, so that 99.6 % is not 100 %. */
export function percentText(share: number): string {
  const percent = share * 100;
  return `${Number.isInteger(percent) ? percent : Math.min(99.9, Math.max(0.1, percent)).toFixed(1)} %`;
}

/** How a number changed: `+12 %`; empty where there is nothing to compare with. */
export function changeText(now: number, before: number): string {
  if (before === 0) return "";
  const percent = Math.round(((now - before) / before) * 100);
  return percent === 0 ? "±0 %" : `${percent > 0 ? "+" : "−"}${Math.abs(percent).toLocaleString()} %`;
}
