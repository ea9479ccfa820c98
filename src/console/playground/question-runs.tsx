import { ParleyError } from "parley/client";
import { useEffect, useRef, useState } from "react";
import { parley } from "../api/client.ts";
import { errorText } from "../api/queries.ts";
import { versionText } from "../api/versions.ts";
import { Button } from "../parts/button.tsx";
import { durationText } from "../parts/moment.ts";
import { messageText } from "../turns/turn-words.ts";
import { AnswerDiff } from "./answer-diff.tsx";

/** What came of a question: the answer, or why there is none. */
interface QuestionResult {
  readonly text: string;
  readonly isError: boolean;
  readonly tookMs: number;
}

type Results = { readonly [question: string]: readonly [QuestionResult, QuestionResult] };

interface QuestionRunsProps {
  readonly agentId: string;
  readonly questions: readonly string[];
  readonly versions: readonly [number | null, number | null];
}

/** Asks all saved questions of two versions, one question after the other, and shows in what the answers differ. */
export function QuestionRuns({ agentId, questions, versions }: QuestionRunsProps) {
  const [results, setResults] = useState<Results>({});
  const [isRunning, setIsRunning] = useState(false);
  const left = useRef(new AbortController());
  useEffect(() => {
    left.current = new AbortController();
    return () => left.current.abort();
  }, []);
  async function run(): Promise<void> {
    const { signal } = left.current;
    setResults({});
    setIsRunning(true);
    for (const question of questions) {
      const asked = versions.map((version) => ask({ agentId, version, question }, signal));
      const [one, other] = await Promise.all(asked);
      if (signal.aborted) return;
      if (one && other) setResults((before) => ({ ...before, [question]: [one, other] }));
    }
    setIsRunning(false);
  }
  const names = versions.map((version) => (version === null ? "latest" : versionText(version)));
  return (
    <div className="question-runs">
      <div className="actions">
        <Button icon="again" disabled={isRunning} onClick={() => void run()}>
          Run all in both versions
        </Button>
        <span className="hint">Without a session; what would ask a person is denied.</span>
      </div>
      <div role="status">
        {questions.map((question) => {
          const result = results[question];
          if (result === undefined) return null;
          return (
            <section key={question} className="question-run" aria-label={`Answers to ${question}`}>
              <h3 dir="auto">{question}</h3>
              <p className="hint">
                {result.map(({ tookMs }, at) => `${names[at]}: ${durationText(tookMs)}`).join(", ")}
              </p>
              {result.some(({ isError }) => isError) ? (
                <div className="answer-diff">
                  {result.map(({ text, isError }, at) => (
                    // Two of them, in this order.
                    <p key={at} className={isError ? "fault marked-text" : "marked-text"} dir="auto">
                      {text}
                    </p>
                  ))}
                </div>
              ) : (
                <AnswerDiff answers={[result[0].text, result[1].text]} />
              )}
            </section>
          );
        })}
      </div>
    </div>
  );
}

interface AskedQuestion {
  readonly agentId: string;
  readonly version: number | null;
  readonly question: string;
}

/** Asks one question of one version, without a session. */
async function ask({ agentId, version, question }: AskedQuestion, signal: AbortSignal): Promise<QuestionResult> {
  const began = performance.now();
  const tookMs = () => performance.now() - began;
  try {
    const { message } = await parley.agents.generate(
      agentId,
      {
        messages: [{ role: "user", parts: [{ type: "text", text: question }] }],
        stream: false,
        ...(version !== null && { version }),
      },
      { signal },
    );
    return { text: messageText(message), isError: false, tookMs: tookMs() };
  } catch (error) {
    const text = error instanceof ParleyError ? error.message : errorText(error as Error);
    return { text, isError: true, tookMs: tookMs() };
  }
}
