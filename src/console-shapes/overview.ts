/** What turns came to that were accepted in some time. */
export interface TurnSums {
  readonly accepted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  /** From when a turn was accepted, or left the line of its session, to the first text of its answer; null where there was none. */
  readonly firstTextMsP50: number | null;
  readonly firstTextMsP95: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The turns that were accepted in one part of a range. */
export interface OverviewPart<Time = string> extends TurnSums {
  /** Its beginning. */
  readonly at: Time;
}

/** How often turns failed with an error. */
export interface FailureCause {
  readonly code: string;
  readonly message: string;
  readonly count: number;
}

/** What a tenant's turns did in a range, and what they do now: `GET /console/api/overview`. */
export interface Overview<Time = string> {
  readonly from: Time;
  readonly to: Time;
  /** The oldest first; the last one may be under way. */
  readonly parts: readonly OverviewPart<Time>[];
  readonly whole: TurnSums;
  /** A time of the same length before. */
  readonly before: TurnSums;
  /** The most frequent first. */
  readonly causes: readonly FailureCause[];
  readonly now: {
    readonly queued: number;
    readonly running: number;
    readonly waiting: number;
    /** Since when the oldest turn waits for a person. */
    readonly waitingSince: Time | null;
  };
}
