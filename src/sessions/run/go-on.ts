import type { UIMessageChunk } from "ai";
import { closingChunks } from "../../messages/close-parts.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ReachedAnswer } from "../../model/run-model.ts";
import { lostCallText } from "../end/outcome.ts";
import { beforeStep, madeCalls, type Progress } from "../end/progress.ts";
import { assembledAnswer } from "../end/reached.ts";

/** What a claim goes on from. */
export interface GoingOn extends ReachedAnswer {
  /** What readers are told of the step that broke off, before anything else. */
  readonly closing: readonly UIMessageChunk[];
  /**
   * The answer as the model is sent it. A text that broke off is left out of it: some vendors
   * refuse a prompt that ends with words of the model, and it says all of it again. A step
   * that made calls is in it, with what came of them, because the model has to know that.
   */
  readonly prompt: UiMessage;
  /** Whether the step that broke off is complete with its closing: it made calls, each of which has an end now. */
  readonly isComplete: boolean;
}

/**
 * Returns what a claim goes on from. `extended` is the answer that a continuation extends;
 * its approved calls run now when none of them can have run before.
 */
export async function goOnFrom(progress: Progress, messageId: string, extended: UiMessage | null): Promise<GoingOn> {
  const { saved, mayHaveRun } = progress;
  const broken = progress.broken ?? [];
  const closing = mayHaveRun
    ? closingChunks([...saved, ...broken], extended, lostCallText)
    : closingChunks(broken, null, lostCallText);
  const unsaved = [...broken, ...closing];
  const isComplete = madeCalls(broken);
  const told = [...saved, ...(isComplete ? withoutTorn(unsaved, closing) : beforeStep(broken, closing))];
  return { saved, unsaved, closing, prompt: await assembledAnswer(messageId, extended, told), isComplete };
}

/** A thought that broke off has no signature, without which its vendor does not take it. */
function withoutTorn(chunks: readonly UIMessageChunk[], closing: readonly UIMessageChunk[]): UIMessageChunk[] {
  const torn = new Set(closing.flatMap((chunk) => (chunk.type === "reasoning-end" ? [chunk.id] : [])));
  return chunks.filter(
    (chunk) => !(chunk.type.startsWith("reasoning-") && "id" in chunk && torn.has(String(chunk.id))),
  );
}
