/** What `GET /console/api/overview` responds with: the last 60 minutes, and the turns of now. */
export interface Overview {
  readonly from: string;
  readonly to: string;
  readonly minutes: readonly OverviewMinute[];
  readonly now: { readonly queued: number; readonly running: number; readonly waiting: number };
}

/** One minute of the overview. */
export interface OverviewMinute {
  readonly at: string;
  readonly accepted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  readonly firstTextMsP50: number | null;
  readonly firstTextMsP95: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

type Counted = Exclude<keyof OverviewMinute, "at">;

/** The sum of all minutes. */
export function sumOf(minutes: readonly OverviewMinute[], name: Counted): number {
  return minutes.reduce((sum, minute) => sum + (minute[name] ?? 0), 0);
}

/** The newest value that there is. */
export function latestOf(minutes: readonly OverviewMinute[], name: Counted): number | null {
  return minutes.findLast((minute) => minute[name] !== null)?.[name] ?? null;
}
