/** Times that lists and reports are about, by their names in the address. */

/** From a moment on until another one, which is left out where it lasts until now. */
export interface Period {
  readonly from: Date;
  readonly to?: Date;
}

/** The first and the last day of a time, both included, as `2026-11-26`. */
export interface DaySpan {
  readonly from: string;
  readonly to: string;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The times that can be chosen: the name in the address, and in words. `month` is the longest that a list of the longest turns takes. */
export const periods = [
  { name: "hour", label: "Last hour" },
  { name: "day", label: "Last 24 hours" },
  { name: "today", label: "Today" },
  { name: "yesterday", label: "Yesterday" },
  { name: "week", label: "Last 7 days" },
  { name: "month", label: "Last 31 days" },
  { name: "this-month", label: "This month" },
  { name: "last-month", label: "Last month" },
] as const;
export type PeriodName = (typeof periods)[number]["name"];

/** Those that are whole days, as reports by the day have them. */
export const dayPeriods = ["today", "yesterday", "week", "month", "this-month", "last-month"] as const;

/** Months before the last one that can be chosen. */
const olderMonths = 10;
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

/** The months before the last one, the newest first, by their names in the address (`2026-09`) and in words. */
export function olderMonthsOf(now: Date): { readonly name: string; readonly label: string }[] {
  return Array.from({ length: olderMonths }, (_, back) => {
    const first = new Date(now.getFullYear(), now.getMonth() - back - 2, 1);
    const name = `${first.getFullYear()}-${String(first.getMonth() + 1).padStart(2, "0")}`;
    return { name, label: monthText(first) };
  });
}

function monthText(first: Date): string {
  return first.toLocaleDateString(undefined, { month: "long", year: "numeric" });
}

/** The name in the address of a time from one day until another one, both included. */
export function customName({ from, to }: DaySpan): string {
  return `${from}..${to}`;
}

/** The days that a name of `customName` means; null for any other text. */
export function customDays(name: string | undefined): DaySpan | null {
  const [from = "", to = "", ...more] = (name ?? "").split("..");
  const isOne = [from, to].every(isDay);
  return isOne && more.length === 0 && from <= to ? { from, to } : null;
}

/** Whether a text is a day that there is: some browsers take 31 February for one in March. */
function isDay(text: string): boolean {
  const at = dayPattern.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Whether a name means days that are none of `periods`: chosen one by one, or a month. */
export function isOtherDays(name: string | undefined): boolean {
  return customDays(name) !== null || monthOf(name) !== null;
}

/** What a time is called; null where there is none of this name. */
export function periodText(name: string | undefined): string | null {
  const known = periods.find((period) => period.name === name);
  if (known !== undefined) return known.label;
  const month = monthOf(name);
  if (month !== null) return monthText(month);
  const days = customDays(name);
  if (days === null) return null;
  const [from, to] = [days.from, days.to].map((day) => dayText(day));
  return from === to ? (from as string) : `${from} – ${to}`;
}

/** A day as people read it. */
export function dayText(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(undefined, { timeZone: "UTC", dateStyle: "medium" });
}

function monthOf(name: string | undefined): Date | null {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name ?? "") ?? [];
  return year === undefined ? null : new Date(Number(year), Number(month) - 1, 1);
}

/** From when to when a time is, by the days of the reader's zone; null where there is none of this name. */
export function spanOf(name: string | undefined, now: Date): Period | null {
  const ago = (ms: number) => ({ from: new Date(now.getTime() - ms) });
  switch (name) {
    case "hour":
      return ago(hourMs);
    case "day":
      return ago(dayMs);
    case "week":
      return ago(7 * dayMs);
    case "month":
      return ago(31 * dayMs);
    case undefined:
      return null;
  }
  const days = daysIn(name, now);
  if (days === null) return null;
  // The day after the last one begins when that one ends, however long it was.
  const [from, to] = [midnight(days.from), midnight(days.to, 1)];
  return to > now ? { from } : { from, to };
}

/** When a day begins in the reader's zone, or one some days later. */
export function midnight(day: string, later = 0): Date {
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  return new Date(year, month - 1, date + later);
}

/** The first and the last day of a time, by the calendar of the reader; null where there is none of this name. */
export function daysIn(name: string | undefined, now: Date): DaySpan | null {
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const day = (back: number) => dayOf(new Date(year, month, date - back));
  switch (name) {
    case "today":
      return { from: day(0), to: day(0) };
    case "yesterday":
      return { from: day(1), to: day(1) };
    case "week":
      return { from: day(6), to: day(0) };
    case "month":
      return { from: day(30), to: day(0) };
    case "this-month":
      return { from: dayOf(new Date(year, month, 1)), to: day(0) };
    case "last-month":
      return { from: dayOf(new Date(year, month - 1, 1)), to: dayOf(new Date(year, month, 0)) };
  }
  const first = monthOf(name);
  if (first === null) return customDays(name);
  return { from: dayOf(first), to: dayOf(new Date(first.getFullYear(), first.getMonth() + 1, 0)) };
}

function dayOf(date: Date): string {
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${date.getFullYear()}-${month}-${day}`;
}
