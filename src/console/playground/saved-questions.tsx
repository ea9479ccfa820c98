import { useId, useState } from "react";
import { useMay } from "../api/role.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { toastError } from "../parts/toasts.tsx";
import { QuestionRuns } from "./question-runs.tsx";
import { hasRoomBeside } from "./room-beside.ts";
import { useSavedQuestions } from "./use-saved-questions.ts";

/** Questions that are kept of one agent. */
const questionsMax = 20;
/** What a kept question has at most, in characters. */
const questionCharactersMax = 4_000;

interface SavedQuestionsProps {
  readonly agentId: string;
  /** The versions that are compared, null for the latest; null: there is one conversation. */
  readonly compared: readonly [number | null, number | null] | null;
  /** The last question of the conversation; empty: there is none. */
  lastAsked(): string;
  onAsk(question: string): void;
}

/** Questions that a team asks again and again of an agent: one by one, or all of them of two versions. */
export function SavedQuestions({ agentId, compared, lastAsked, onAsk }: SavedQuestionsProps) {
  const { questions, change } = useSavedQuestions(agentId);
  const mayKeep = useMay("editor");
  const hintId = useId();
  const [typed, setTyped] = useState("");
  const [isMissing, setIsMissing] = useState(false);
  const [isOpen] = useState(hasRoomBeside);
  const isFull = questions.length >= questionsMax;
  async function add(): Promise<void> {
    const question = (typed.trim() || lastAsked().trim()).slice(0, questionCharactersMax);
    setIsMissing(question === "");
    if (question === "") return;
    setTyped("");
    await change((kept) => (kept.includes(question) ? kept : [...kept, question]));
  }
  const forget = (question: string) => change((kept) => kept.filter((other) => other !== question));
  return (
    <details className="more-fields saved-questions" open={isOpen || compared !== null}>
      <summary>Saved questions</summary>
      <div className="saved-questions-body">
        <p className="hint">Of this agent, at most {questionsMax}, for everybody of the team.</p>
        {questions.length > 0 && (
          <ul>
            {questions.map((question) => (
              <li key={question}>
                <bdi className="saved-question" title={question}>
                  {question}
                </bdi>
                <Button tone="quiet" aria-label={`Ask ${question}`} onClick={() => onAsk(question)}>
                  Ask
                </Button>
                {mayKeep && (
                  <IconButton
                    label={`Forget ${question}`}
                    icon="close"
                    onClick={() => void forget(question).catch(toastError)}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
        {!isFull && mayKeep && (
          <form
            className="call-action"
            onSubmit={(event) => {
              event.preventDefault();
              void add().catch(toastError);
            }}
          >
            <input
              aria-label="Question to save"
              aria-describedby={hintId}
              aria-invalid={isMissing}
              value={typed}
              maxLength={questionCharactersMax}
              onChange={(event) => {
                setTyped(event.target.value);
                setIsMissing(false);
              }}
            />
            {isMissing ? (
              <p id={hintId} className="fault" role="alert">
                Type a question: none was asked here yet.
              </p>
            ) : (
              <p id={hintId} className="hint">
                Empty: the last one asked.
              </p>
            )}
            <Button type="submit">Save question</Button>
          </form>
        )}
        {compared !== null && questions.length > 0 && (
          <QuestionRuns key={compared.join()} agentId={agentId} questions={questions} versions={compared} />
        )}
      </div>
    </details>
  );
}
