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
  readonly detail: string;
}

/** Returns a turn as bars: its wait for a worker, each model call, and the tool calls below it. */
export function stepSpans({
  acceptedAt,
  startedAt,
  finishedAt,
  status,
  steps,
}: Pick<TurnDetails, "acceptedAt" | "startedAt" | "finishedAt" | "status" | "steps">): StepSpan[] {
  const queued: StepSpan = {
    ...{ id: "queued", label: "Queued", depth: 0, tone: "neutral", detail: "" },
    from: acceptedAt,
    until: startedAt ?? finishedAt,
  };
  const calls = steps.flatMap((step, at): StepSpan[] => [
    {
      id: `step-${step.index}-${at}`,
      label: `Step ${at + 1}: ${step.model}`,
      from: step.startedAt,
      until: step.finishedAt ?? finishedAt,
      depth: 0,
      tone: step.finishedAt === null && status === "failed" ? "bad" : "active",
      detail: `${step.inputTokens.toLocaleString()} tokens in, ${step.outputTokens.toLocaleString()} out`,
    },
    ...step.toolCalls.map(
      (call): StepSpan => ({
        id: `step-${step.index}-${at}-${call.toolCallId}`,
        label: call.tool,
        from: call.startedAt,
        until: call.finishedAt ?? finishedAt,
        depth: 1,
        tone: toneOf(call.status),
        detail: call.status,
      }),
    ),
  ]);
  return [queued, ...calls];
}
