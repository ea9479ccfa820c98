import { daysIn, isOtherDays, midnight, type PeriodName, periodText } from "../parts/periods.ts";

/** The times that an overview can be of, beside days that are chosen one by one. */
export const overviewPeriods = [
  "hour",
  "day",
  "today",
  "yesterday",
  "week",
  "this-month",
  "last-month",
] as const satisfies readonly PeriodName[];
export const usualPeriod = "hour";

/** The time of an overview: its name in the address, how the service is asked for it, and what it is compared with. */
export interface OverviewTime {
  readonly name: string;
  readonly query: string;
  readonly before: string;
  /** How often it is read anew, in ms. */
  readonly refreshMs: number;
}

/** Times that end now, which the service knows by name. */
const moving: { readonly [name: string]: { readonly before: string; readonly refreshMs: number } } = {
  hour: { before: "the hour before", refreshMs: 5_000 },
  day: { before: "the day before", refreshMs: 30_000 },
  week: { before: "the week before", refreshMs: 60_000 },
};
const refreshMs = 60_000;

/** Returns the time of an overview by its name in the address; the last hour where there is none of that name. */
export function overviewRange(name: string | undefined, now: Date): OverviewTime {
  const known = overviewPeriods.some((period) => period === name) || isOtherDays(name);
  const chosen = known && name !== undefined ? name : usualPeriod;
  const moves = moving[chosen];
  if (moves !== undefined) return { name: chosen, query: `range=${chosen}`, ...moves };
  const days = daysIn(chosen, now) ?? { from: "", to: "" };
  const [from, to] = [midnight(days.from), midnight(days.to, 1)];
  const { start, text } = comparedWith(chosen, from, to);
  const query = new URLSearchParams({ from: from.toISOString(), to: to.toISOString(), before: start.toISOString() });
  return { name: chosen, query: String(query), before: text, refreshMs };
}

/** What a time is compared with: as much of the day, month or days before it as has passed of it. */
function comparedWith(name: string, from: Date, to: Date): { readonly start: Date; readonly text: string } {
  const [year, month, day] = [from.getFullYear(), from.getMonth(), from.getDate()];
  if (name === "this-month" || name === "last-month")
    return { start: new Date(year, month - 1, day), text: "the same days of the month before" };
  if (name === "today") return { start: new Date(year, month, day - 1), text: "yesterday until this time" };
  const days = Math.round((to.getTime() - from.getTime()) / 86_400_000);
  return { start: new Date(year, month, day - days), text: days === 1 ? "the day before" : `the ${days} days before` };
}

/** What the time is called where a line begins with it. */
export function overviewText({ name }: OverviewTime): string {
  return periodText(name) ?? "";
}
