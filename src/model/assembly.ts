import { createUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { UiMessage } from "../messages/ui-message.ts";

/** Chunks of a text that follow each other; they are assembled as one. */
interface Run {
  readonly type: "text-delta" | "reasoning-delta";
  readonly id: string;
  readonly deltas: string[];
  readonly first: UIMessageChunk;
}

/**
 * Collects the chunks of an answer and has the AI SDK assemble the message of
 * them, once, at the end: the stored message is what a client assembles from the
 * stream. Deltas that follow each other are joined first, so that this costs a
 * few chunks however long the answer is.
 */
export class Assembly {
  readonly #messageId: string;
  readonly #extended: UiMessage | null;
  readonly #collected: (UIMessageChunk | Run)[] = [];

  /** `extended` is the message that goes on, when a turn resumes. */
  constructor(messageId: string, extended: UiMessage | null) {
    this.#messageId = messageId;
    this.#extended = extended;
  }

  add(chunk: UIMessageChunk): void {
    // What a call's input was while it came in pieces is of no interest once it is whole.
    if (chunk.type === "tool-input-delta") return;
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") {
      this.#collected.push(chunk);
      return;
    }
    const last = this.#collected.at(-1);
    // What a provider says of one delta (the signature of a thought, say) stays with it.
    const plain = chunk.providerMetadata === undefined;
    if (plain && last !== undefined && "deltas" in last && last.type === chunk.type && last.id === chunk.id) {
      last.deltas.push(chunk.delta);
    } else this.#collected.push({ type: chunk.type, id: chunk.id, deltas: [chunk.delta], first: chunk });
  }

  /** The message as it stands. */
  async message(): Promise<UiMessage> {
    let message: UiMessage = this.#extended ?? { id: this.#messageId, role: "assistant", parts: [] };
    const stream = createUIMessageStream({
      originalMessages: this.#extended === null ? [] : [this.#extended as unknown as UIMessage],
      generateId: () => this.#messageId,
      execute: ({ writer }) => {
        for (const chunk of this.#collected) writer.write(whole(chunk));
      },
      onEnd: ({ responseMessage }) => {
        message = { ...responseMessage, id: this.#messageId } as UiMessage;
      },
    });
    for await (const _chunk of stream) {
      // Only the message is of interest.
    }
    return message;
  }
}

function whole(chunk: UIMessageChunk | Run): UIMessageChunk {
  return "deltas" in chunk ? ({ ...chunk.first, delta: chunk.deltas.join("") } as UIMessageChunk) : chunk;
}
