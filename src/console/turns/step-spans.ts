import type { TurnDetails } from "parley/client";
import type { BadgeTone } from "../parts/tone.ts";
import { toneOf } from "../parts/tone.ts";

/** One bar of a turn's steps. */
export interface StepSpan {
  readonly id: string;
  readonly label: string;
  readonly from: string;
  readonly until: string | null;
  readonly depth: number;
  readonly tone: BadgeTone;
  readonly detail?: string;
  /** The moment of the first text, where it came within this bar. */
  readonly mark?: string;
  /** The place of the step that it belongs to, and of a call its id; the wait of the turn has neither. */
  readonly step?: number;
  readonly toolCallId?: string;
}

/** Between one thing that a turn does and the next there are milliseconds, unless it waits for a person or for a worker. */
const pauseMs = 1_000;

/** A step that ends so soon after its last call ended has waited for its calls: its model was done before them. */
const settledMs = 250;

type Step = TurnDetails["steps"][number];

/** Returns a turn as bars: its wait for a worker, each model call, the tool calls below it, and what it waited between them. */
export function stepSpans({
  acceptedAt,
  startedAt,
  firstTextAt,
  finishedAt,
  status,
  steps,
}: Pick<TurnDetails, "acceptedAt" | "startedAt" | "firstTextAt" | "finishedAt" | "status" | "steps">): StepSpan[] {
  const queued: StepSpan = {
    ...{ id: "queued", label: "Queued", depth: 0, tone: "neutral" },
    from: acceptedAt,
    until: startedAt ?? finishedAt,
  };
  const bars = steps.flatMap((step, at): StepSpan[] => {
    const id = `step-${step.index}-${at}`;
    const isLast = at === steps.length - 1;
    const own: StepSpan = {
      ...{ id, label: `Step ${at + 1}: ${step.model}`, depth: 0, step: at },
      ...{ from: step.startedAt, until: modelEnd(step) ?? finishedAt },
      tone: isLast && status === "failed" ? "bad" : "active",
      detail: `${step.inputTokens.toLocaleString()} tokens in, ${step.outputTokens.toLocaleString()} out`,
      ...(isWithin(firstTextAt, step.startedAt, step.finishedAt ?? finishedAt) && { mark: firstTextAt as string }),
    };
    const calls = step.toolCalls.map(
      (call): StepSpan => ({
        ...{ id: `${id}-${call.toolCallId}`, label: call.tool, depth: 1, step: at, toolCallId: call.toolCallId },
        ...{ from: call.startedAt, until: call.finishedAt ?? finishedAt },
        ...{ tone: toneOf(call.status), detail: call.status },
      }),
    );
    // A call that was decided by a person runs after its step.
    const isLate = ({ from }: StepSpan) => step.finishedAt !== null && Date.parse(from) > Date.parse(step.finishedAt);
    const early = calls.filter((call) => !isLate(call));
    const late = calls.filter(isLate);
    return [own, ...early, ...pauseBetween(step, early, late[0]?.from ?? steps[at + 1]?.startedAt), ...late];
  });
  return [queued, ...bars];
}

/** When a step's model had said what it had to say, as far as its calls tell; null while it runs. */
function modelEnd({ finishedAt, toolCalls }: Step): string | null {
  if (finishedAt === null || toolCalls.length === 0) return finishedAt;
  const within = toolCalls.filter(({ startedAt }) => Date.parse(startedAt) <= Date.parse(finishedAt));
  const last = Math.max(0, ...within.map((call) => Date.parse(call.finishedAt ?? finishedAt)));
  const first = within.map(({ startedAt }) => startedAt).toSorted()[0];
  return first === undefined || Date.parse(finishedAt) - last > settledMs ? finishedAt : first;
}

function isWithin(at: string | null, from: string, until: string | null): boolean {
  if (at === null) return false;
  return Date.parse(at) >= Date.parse(from) && (until === null || Date.parse(at) <= Date.parse(until));
}

/** The time in which a turn did nothing before what came next, where that is long enough to be a pause. */
function pauseBetween(step: Step, before: readonly StepSpan[], next: string | undefined): StepSpan[] {
  const ends = [step.finishedAt, ...before.map(({ until }) => until)].filter((end) => end !== null);
  const from = ends.toSorted((one, other) => Date.parse(other) - Date.parse(one))[0];
  if (from === undefined || next === undefined || Date.parse(next) - Date.parse(from) < pauseMs) return [];
  const id = `pause-${step.index}-${from}`;
  return [
    { ...{ id, label: "Waited", depth: 1, tone: "warn", detail: "for a person, or for a worker" }, from, until: next },
  ];
}

/** What a turn spent most of its time with; null for one without bars. A step counts without the calls within it. */
export function longestPart(
  spans: readonly StepSpan[],
): { readonly label: string; readonly milliseconds: number } | null {
  const lengthOf = ({ from, until }: StepSpan) =>
    until === null ? 0 : Math.max(0, Date.parse(until) - Date.parse(from));
  const parts = spans.map((span) => {
    const within = spans.filter(
      ({ id, from }) => id.startsWith(`${span.id}-`) && span.until !== null && from < span.until,
    );
    const spent = Math.max(0, ...within.map(lengthOf));
    return { label: span.label, milliseconds: Math.max(0, lengthOf(span) - spent) };
  });
  return parts.toSorted((one, other) => other.milliseconds - one.milliseconds)[0] ?? null;
}
