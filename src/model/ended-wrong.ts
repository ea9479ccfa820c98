import type { FinishReason } from "ai";
import type { ModelPart } from "./model-part.ts";

type Reason = Extract<ModelPart, { type: "finish" }>["finishReason"];

/** Reasons with which a model call ends well that gave nothing. */
const goodEnds: ReadonlySet<FinishReason> = new Set(["stop", "length", "content-filter"]);

/**
 * A model call that ended for a reason that is no good end, such as a malformed call or a word
 * that is not known, and gave neither text, nor a file, nor a call that was made; or that announced calls
 * or a pause and gave none. Its message may be shown to readers.
 */
export class EndedWrongError extends Error {
  override readonly name = "EndedWrongError";

  constructor(reason: FinishReason) {
    super(
      `The model ended its answer ${reasons[reason] ?? "for an unknown reason"}, without text or a call that can be made.`,
    );
  }
}

const reasons: Partial<Record<FinishReason, string>> = {
  error: "with an error",
  "tool-calls": "to make calls",
  stop: "with a pause",
};

/**
 * Returns whether a model call ended well that gave neither text nor a file nor a call that was made.
 * `hasCalls`: it made calls that were refused, which the model is told, or its vendor ran some.
 */
export function isGoodEnd({ unified, raw }: Reason, hasCalls: boolean): boolean {
  // Anthropic's client calls a pause amid calls `stop`.
  const promisesMore = unified === "tool-calls" || raw === "pause_turn";
  return promisesMore ? hasCalls : goodEnds.has(unified);
}
