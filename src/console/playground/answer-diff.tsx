import { useMemo } from "react";
import { diffTexts, type TextPiece } from "../parts/text-diff.ts";

/** Two answers side by side, with the words marked in which they differ. */
export function AnswerDiff({ answers: [one, other] }: { readonly answers: readonly [string, string] }) {
  const marked = useMemo(() => diffTexts(one, other), [one, other]);
  if (one === other) return <p className="hint">Both answers are the same.</p>;
  return (
    <div className="answer-diff">
      <MarkedText pieces={marked.one} as="del" />
      <MarkedText pieces={marked.other} as="ins" />
    </div>
  );
}

/** A text with what is its own marked, for the eye and for who hears it. */
function MarkedText({ pieces, as: Mark }: { readonly pieces: readonly TextPiece[]; readonly as: "del" | "ins" }) {
  return (
    <p className="marked-text" dir="auto">
      {pieces.map(({ text, isOwn }, at) =>
        // Pieces of one text, made anew with it.
        isOwn ? <Mark key={at}>{text}</Mark> : <span key={at}>{text}</span>,
      )}
    </p>
  );
}
