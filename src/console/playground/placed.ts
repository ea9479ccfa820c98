import type { UIMessage } from "parley/client";
import type { UnansweredTurn } from "../../console-shapes/words.ts";

/** A turn without an answer, and the message that it stands behind; null: in front of all. */
export interface PlacedTurn {
  readonly turn: UnansweredTurn<UIMessage>;
  readonly afterId: string | null;
  /** Whether what it was asked is among the messages. */
  readonly isAskedShown: boolean;
}

/**
 * Places turns that left no answer among the messages of a page, which may still show what the transcript does not hold: a
 * question that was asked here, and the beginning of its answer. One whose answer was stopped and kept needs no word.
 * `isBrokenOff`: the last answer is such a beginning.
 */
export function placeUnanswered(
  turns: readonly UnansweredTurn<UIMessage>[],
  messages: readonly UIMessage[],
  isBrokenOff: boolean,
): PlacedTurn[] {
  const last = messages.length - 1;
  return turns.flatMap((turn): PlacedTurn[] => {
    if (turn.status === "canceled" && turn.message === null) return [];
    const asked = messages.findIndex(({ id }) => id === turn.message?.id);
    if (asked >= 0) {
      const after = isBrokenOff && asked === last - 1 && messages[last]?.role === "assistant" ? last : asked;
      return [{ turn, afterId: messages[after]?.id ?? null, isAskedShown: true }];
    }
    const isKnown = turn.afterMessageId !== null && messages.some(({ id }) => id === turn.afterMessageId);
    return [{ turn, afterId: isKnown ? turn.afterMessageId : null, isAskedShown: false }];
  });
}
