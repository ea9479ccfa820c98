import type { FinishReason } from "ai";

/** Reasons with which a model call ends well; with any other one it failed, unless it gave something. */
const goodEnds: ReadonlySet<FinishReason> = new Set(["stop", "tool-calls", "length", "content-filter"]);

/**
 * A model call that ended for a reason that is no good end, such as a malformed call or a word
 * that nobody knows, and gave neither text nor a call that was made. Its message may be shown to readers.
 */
export class EndedWrongError extends Error {
  override readonly name = "EndedWrongError";

  constructor(reason: FinishReason) {
    super(
      reason === "error"
        ? "The model ended its answer with an error, without text or a call that can be made."
        : "The model ended its answer for an unknown reason, without text or a call that can be made.",
    );
  }
}

/** Returns whether a model call with this reason ended well. */
export function isGoodEnd(reason: FinishReason): boolean {
  return goodEnds.has(reason);
}
