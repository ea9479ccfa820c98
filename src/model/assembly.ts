import { createUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { UiMessage } from "../messages/ui-message.ts";

/** Consecutive deltas of one text; they are assembled as one chunk. */
interface DeltaRun {
  readonly type: "text-delta" | "reasoning-delta";
  readonly id: string;
  readonly deltas: string[];
  /** Earlier deltas, joined: many short texts take several times the memory of a long one. */
  readonly joined: string[];
  readonly first: UIMessageChunk;
}

const deltasJoinedAtOnce = 1_024;

/**
 * Collects the chunks of an answer and lets the AI SDK assemble the message from them,
 * once, at the end: the stored message is the one that a client assembles from the
 * stream. Consecutive deltas are joined first, so that the assembly takes few chunks
 * however long the answer is.
 */
export class Assembly {
  readonly #messageId: string;
  readonly #extended: UiMessage | null;
  readonly #collected: (UIMessageChunk | DeltaRun)[] = [];
  /** How many of these were taken. */
  #taken = 0;

  /** `extended` is the message that a resumed turn continues; null for a new message. */
  constructor(messageId: string, extended: UiMessage | null) {
    this.#messageId = messageId;
    this.#extended = extended;
  }

  add(chunk: UIMessageChunk): void {
    // The pieces of a tool call's input are not needed: a later chunk has the whole input.
    if (chunk.type === "tool-input-delta") return;
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") {
      this.#collected.push(chunk);
      return;
    }
    const last = this.#collected.length > this.#taken ? this.#collected.at(-1) : undefined;
    // A delta with provider metadata (the signature of a thought, for example) starts a new entry and keeps it.
    const plain = chunk.providerMetadata === undefined;
    if (plain && last !== undefined && "deltas" in last && last.type === chunk.type && last.id === chunk.id) {
      last.deltas.push(chunk.delta);
      if (last.deltas.length === deltasJoinedAtOnce) last.joined.push(last.deltas.splice(0).join(""));
    } else this.#collected.push({ type: chunk.type, id: chunk.id, deltas: [chunk.delta], joined: [], first: chunk });
  }

  /** Returns the chunks since the last call, with consecutive deltas joined; they stay in the message. */
  take(): UIMessageChunk[] {
    const chunks = this.#collected.slice(this.#taken).map(asChunk);
    this.#taken = this.#collected.length;
    return chunks;
  }

  /** Returns the message assembled from the chunks so far. */
  async message(): Promise<UiMessage> {
    let message: UiMessage = this.#extended ?? { id: this.#messageId, role: "assistant", parts: [] };
    const stream = createUIMessageStream({
      originalMessages: this.#extended === null ? [] : [this.#extended as unknown as UIMessage],
      generateId: () => this.#messageId,
      execute: ({ writer }) => {
        for (const chunk of this.#collected) writer.write(asChunk(chunk));
      },
      onEnd: ({ responseMessage }) => {
        message = { ...responseMessage, id: this.#messageId } as UiMessage;
      },
    });
    for await (const _chunk of stream) {
      // Only the message is needed, which `onEnd` receives.
    }
    return message;
  }
}

function asChunk(chunk: UIMessageChunk | DeltaRun): UIMessageChunk {
  return "deltas" in chunk
    ? ({ ...chunk.first, delta: [...chunk.joined, ...chunk.deltas].join("") } as UIMessageChunk)
    : chunk;
}
