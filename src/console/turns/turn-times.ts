/** The milliseconds that a turn has run without waiting for people: of one that has not ended, until now. */
export function ranOf(
  turn: {
    readonly status: string;
    readonly startedAt: string | null;
    readonly finishedAt: string | null;
    readonly runMs: number;
    readonly waitedMs: number;
  },
  now: number,
): number {
  // While it waits for a person it does not run, and its wait is known as of when it was read.
  if (turn.finishedAt !== null || turn.status === "waiting") return turn.runMs;
  return turn.startedAt === null ? 0 : Math.max(turn.runMs, now - Date.parse(turn.startedAt) - turn.waitedMs, 0);
}

/**
 * The milliseconds until the first text of a turn's answer; null: there is none. What it waited for people before it
 * spoke is not counted, by the same rule as in the service's figures (console-server/first-text.ts).
 */
export function firstTextOf(turn: {
  readonly acceptedAt: string;
  readonly firstTextAt: string | null;
  readonly waitedMs: number;
}): number | null {
  if (turn.firstTextAt === null) return null;
  const passed = Date.parse(turn.firstTextAt) - Date.parse(turn.acceptedAt);
  return Math.max(0, passed >= turn.waitedMs ? passed - turn.waitedMs : passed);
}
