/** A month by its name in the address, in words, and its first and last day (UTC). */
export interface MonthChoice {
  readonly name: string;
  readonly label: string;
  readonly from: string;
  readonly to: string;
}

/** Months that can be chosen. */
const shownMonths = 12;

/** The present month and those before it, the newest first; by UTC, as usage has its days. */
export function monthChoices(now: Date): MonthChoice[] {
  return Array.from({ length: shownMonths }, (_, back) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
    const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back + 1, 0));
    const from = first.toISOString().slice(0, 10);
    const label = first.toLocaleDateString(undefined, { month: "long", year: "numeric", timeZone: "UTC" });
    return { name: from.slice(0, 7), label, from, to: last.toISOString().slice(0, 10) };
  });
}
