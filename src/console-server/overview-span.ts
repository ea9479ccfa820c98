import { invalid } from "../kernel/errors.ts";
import { readMoment } from "../kernel/http/date-time.ts";

/** How far back an overview goes from now, and how it is divided: seconds of a part, and parts. */
export const overviewRanges = {
  hour: { partSeconds: 60, parts: 60 },
  day: { partSeconds: 1_800, parts: 48 },
  week: { partSeconds: 7_200, parts: 84 },
} as const;
export type OverviewRange = keyof typeof overviewRanges;

/** The time of an overview in parts, and the time of the same length that it is compared with. */
export interface OverviewSpan {
  readonly from: Date;
  readonly to: Date;
  readonly before: Date;
  readonly beforeEnd: Date;
  readonly partSeconds: number;
  readonly parts: number;
}

const hourMs = 3_600_000;
/** A month in which a clock was put back. */
const spanMsMax = 31 * 24 * hourMs + hourMs;
/** What it is compared with begins at most this long before it. */
const beforeMsMax = 2 * spanMsMax;
/** Seconds that a part may have, and parts at most. */
const partChoices = [60, 300, 1_800, 7_200, 43_200] as const;
const partsMax = 90;

/** Returns the span of a range that ends with the part that is under way. */
export function spanOfRange(range: OverviewRange, nowMs: number): OverviewSpan {
  const { partSeconds, parts } = overviewRanges[range];
  const to = (Math.floor(nowMs / 1000 / partSeconds) + 1) * partSeconds * 1000;
  const length = parts * partSeconds * 1000;
  const [from, before] = [new Date(to - length), new Date(to - 2 * length)];
  return { from, to: new Date(to), before, beforeEnd: from, partSeconds, parts };
}

/** The fields of a request for the time between two moments. */
interface SpanFields {
  readonly range: OverviewRange | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** When the time begins that it is compared with. */
  readonly before: string | undefined;
}

/**
 * Returns the span between two moments, as far as it has begun: of one that lasts on, until the end of the part that is
 * under way. It is compared with a time that is as long and begins at `before`. Throws 400 naming the field.
 */
export function spanBetween(fields: SpanFields, nowMs: number): OverviewSpan {
  if (fields.range !== undefined) throw invalid("range", "cannot stand beside from, to and before");
  const [from, to, before] = [momentOf(fields, "from"), momentOf(fields, "to"), momentOf(fields, "before")];
  if (to <= from || to - from > spanMsMax) throw invalid("to", "must be after from, by at most 31 days");
  if (from >= nowMs) throw invalid("from", "must have passed");
  if (before >= from || from - before > beforeMsMax) throw invalid("before", "must be before from, by at most 62 days");
  const partSeconds = partChoices.find((seconds) => (to - from) / seconds / 1000 <= partsMax) ?? partChoices[4];
  const parts = Math.ceil((Math.min(to, nowMs) - from) / 1000 / partSeconds) || 1;
  const end = Math.min(to, from + parts * partSeconds * 1000);
  // The part under way is not over: no more is compared than has passed.
  const beforeEnd = Math.min(from, before + Math.min(to, nowMs) - from);
  return { ...dates({ from, to: end, before, beforeEnd }), partSeconds, parts };
}

function momentOf(fields: SpanFields, name: "from" | "to" | "before"): number {
  const moment = readMoment(name, fields[name]);
  if (moment === undefined) throw invalid(name, "is required with the others");
  return moment.getTime();
}

function dates<Name extends string>(moments: Record<Name, number>): Record<Name, Date> {
  const entries = Object.entries<number>(moments).map(([name, ms]) => [name, new Date(ms)]);
  return Object.fromEntries(entries) as Record<Name, Date>;
}
