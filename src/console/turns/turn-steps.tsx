import type { TurnDetails, UIMessage } from "parley/client";
import { useState } from "react";
import { CallBody } from "../conversation/call-view.tsx";
import { MessageParts } from "../conversation/message-view.tsx";
import { isCall } from "../conversation/parts-of.ts";
import { Empty } from "../parts/states.tsx";
import { Waterfall } from "../parts/waterfall.tsx";
import { When } from "../parts/when.tsx";
import { type StepSpan, stepSpans } from "./step-spans.ts";

interface TurnStepsProps {
  readonly turn: TurnDetails;
  /** What the turn said; null where nothing is stored. */
  readonly answer: UIMessage | null;
}

/** A turn's steps and calls as bars, and beside them the words of the chosen one. */
export function TurnSteps({ turn, answer }: TurnStepsProps) {
  const [chosenId, setChosenId] = useState<string | null>(null);
  if (turn.steps.length === 0)
    return <Empty>{turn.startedAt === null ? "No worker has begun it yet." : "No model was called yet."}</Empty>;
  const spans = stepSpans(turn);
  const ofSteps = spans.filter(({ step }) => step !== undefined);
  const chosen =
    spans.find(({ id }) => id === chosenId) ?? ofSteps.findLast(({ toolCallId }) => toolCallId === undefined);
  return (
    <div className="turn-split">
      <Waterfall
        caption="Steps and their tool calls"
        spans={spans}
        chosen={chosen?.id ?? null}
        onChoose={setChosenId}
      />
      {chosen !== undefined && <Contents turn={turn} answer={answer} span={chosen} />}
    </div>
  );
}

function Contents({ turn, answer, span }: TurnStepsProps & { readonly span: StepSpan }) {
  const step = span.step === undefined ? undefined : turn.steps[span.step];
  return (
    <section className="turn-contents" aria-label={`What ${span.label} holds`}>
      <h3>{span.label}</h3>
      {step === undefined && <p className="hint">{span.detail ?? "The turn waited for a worker."}</p>}
      {step !== undefined && span.toolCallId === undefined && (
        <StepContents step={step} answer={answer} at={span.step ?? 0} />
      )}
      {span.toolCallId !== undefined && <CallContents answer={answer} toolCallId={span.toolCallId} />}
    </section>
  );
}

interface StepContentsProps {
  readonly step: TurnDetails["steps"][number];
  readonly answer: UIMessage | null;
  readonly at: number;
}

/** What a model said in a step, and what its calls failed with before. */
function StepContents({ step, answer, at }: StepContentsProps) {
  const parts = partsOfStep(answer, at);
  return (
    <>
      {step.failures.map((failure) => (
        <p key={failure.at} className="said-failure">
          {failure.model}:{" "}
          {[failure.status ?? "no answer", failure.code, failure.status !== null && failure.message]
            .filter(Boolean)
            .join(" · ")}{" "}
          <When at={failure.at} />
        </p>
      ))}
      {parts.length === 0 ? (
        <p className="hint">{step.failures.length > 0 ? "It said nothing." : "Nothing of it is stored."}</p>
      ) : (
        <MessageParts parts={parts} by="assistant" unfolded={false} />
      )}
    </>
  );
}

function CallContents({ answer, toolCallId }: { readonly answer: UIMessage | null; readonly toolCallId: string }) {
  const part = answer?.parts.find((one) => isCall(one) && one.toolCallId === toolCallId);
  if (part === undefined || !isCall(part)) return <p className="hint">Its input and output are not stored.</p>;
  return <CallBody part={part} />;
}

/** The parts of a message that one step said: each begins with its own mark. */
function partsOfStep(message: UIMessage | null, at: number): UIMessage["parts"] {
  let step = -1;
  return (message?.parts ?? []).filter((part) => {
    if (part.type === "step-start") step += 1;
    return step === at && part.type !== "step-start";
  });
}
