import type { UIMessage } from "parley/client";
import { Link } from "wouter";
import type { UnansweredTurn } from "../../console-shapes/words.ts";
import { FailureBoxOf } from "./failure-box.tsx";
import { MessageView } from "./message-view.tsx";
import { RunAgain } from "./run-again.tsx";
import { TurnMoment } from "./turn-moment.tsx";

interface UnansweredProps {
  readonly turn: UnansweredTurn<UIMessage>;
  /** Whether what was asked is shown already, in front of this. */
  readonly isAskedShown?: boolean;
  onRunAgain(): void;
}

/** What was asked without an answer, and why there is none. */
export function Unanswered({ turn, isAskedShown = false, onRunAgain }: UnansweredProps) {
  const { turnId, message, status } = turn;
  const when = <TurnMoment turnId={turnId} at={turn.acceptedAt} />;
  return (
    <div className="unanswered">
      {message !== null && !isAskedShown && <MessageView message={message} actions={when} />}
      {status === "failed" ? (
        <FailureBoxOf turnId={turnId} onRunAgain={onRunAgain} />
      ) : (
        <div className="failure-box calm">
          <p>
            {message === null ? "The turn was canceled." : "Canceled before it was answered."}{" "}
            <Link href={`/turns/${turnId}`}>Turn</Link>
          </p>
          <RunAgain turnId={turnId} onBegun={onRunAgain} />
        </div>
      )}
    </div>
  );
}
