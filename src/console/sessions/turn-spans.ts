import type { TurnSummary } from "parley/client";
import type { BadgeTone } from "../parts/tone.ts";

/** What a turn did from when to when, as far as its summary says. */
export interface TurnSpan {
  readonly id: string;
  readonly label: string;
  readonly from: string;
  readonly until: string | null;
  readonly tone?: BadgeTone;
}

type Times = Pick<TurnSummary, "acceptedAt" | "startedAt" | "firstTextAt" | "finishedAt">;

/** A turn as bars: how long it was queued, how long until its first text, and how long it went on. */
export function turnSpans({ acceptedAt, startedAt, firstTextAt, finishedAt }: Times): TurnSpan[] {
  if (startedAt === null)
    return [{ id: "queued", label: "Queued", from: acceptedAt, until: finishedAt, tone: "neutral" }];
  const spans: TurnSpan[] = [{ id: "queued", label: "Queued", from: acceptedAt, until: startedAt, tone: "neutral" }];
  if (firstTextAt === null) return [...spans, { id: "ran", label: "Ran", from: startedAt, until: finishedAt }];
  return [
    ...spans,
    { id: "first", label: "To the first text", from: startedAt, until: firstTextAt, tone: "active" },
    { id: "text", label: "From the first text", from: firstTextAt, until: finishedAt },
  ];
}
