import { setImmediate } from "node:timers/promises";
import { createUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { UiMessage } from "../messages/ui-message.ts";

type Delta = Extract<UIMessageChunk, { type: "text-delta" | "reasoning-delta" }>;

/** The deltas of one text; they are assembled as one chunk. */
interface DeltaRun {
  readonly deltas: string[];
  /** Earlier deltas, joined: many short texts take several times the memory of a long one. */
  readonly joined: string[];
  /** The last one, with what it says beside its text, such as the signature of a thought: the AI SDK keeps what came last. */
  last: Delta;
}

const deltasJoinedAtOnce = 1_024;
/** This many chunks are assembled in one go, about 30 µs each; then other work goes on. */
const chunksAtOnce = 100;

/**
 * Collects the chunks of an answer and lets the AI SDK assemble the message from them,
 * once, at the end: the stored message is the one that a client assembles from the
 * stream. The deltas of a text are joined first, so that the assembly takes few chunks
 * however long the answer is, and however texts and thoughts alternate in it.
 */
export class Assembly {
  readonly #messageId: string;
  readonly #extended: UiMessage | null;
  readonly #collected: (UIMessageChunk | DeltaRun)[] = [];
  /** How many of these were taken. */
  #taken = 0;
  /** The deltas of texts that go on, by kind and id, of those that were not taken. */
  readonly #runs = new Map<string, DeltaRun>();

  /** `extended` is the message that a resumed turn continues; null for a new message. */
  constructor(messageId: string, extended: UiMessage | null) {
    this.#messageId = messageId;
    this.#extended = extended;
  }

  add(chunk: UIMessageChunk): void {
    // The pieces of a tool call's input are not needed: a later chunk has the whole input.
    if (chunk.type === "tool-input-delta") return;
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") {
      // Another text of the same id begins, or the step is over.
      if (chunk.type === "text-start" || chunk.type === "reasoning-start") this.#runs.delete(keyOf(chunk));
      else if (chunk.type === "finish-step") this.#runs.clear();
      this.#collected.push(chunk);
      return;
    }
    const run = this.#runs.get(keyOf(chunk));
    if (run === undefined) {
      const begun: DeltaRun = { deltas: [chunk.delta], joined: [], last: chunk };
      this.#runs.set(keyOf(chunk), begun);
      this.#collected.push(begun);
      return;
    }
    run.deltas.push(chunk.delta);
    if (run.deltas.length === deltasJoinedAtOnce) run.joined.push(run.deltas.splice(0).join(""));
    if (chunk.providerMetadata !== undefined) run.last = chunk;
  }

  /** Returns the chunks since the last call, with the deltas of a text joined; they stay in the message. */
  take(): UIMessageChunk[] {
    this.#runs.clear();
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
      // What is written is assembled in microtasks, before anything else of the process goes on.
      execute: async ({ writer }) => {
        for (let at = 0; at < this.#collected.length; at++) {
          if (at > 0 && at % chunksAtOnce === 0) await setImmediate();
          writer.write(asChunk(this.#collected[at] as UIMessageChunk | DeltaRun));
        }
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

function keyOf({ type, id }: { readonly type: string; readonly id: string }): string {
  return `${type.startsWith("text") ? "text" : "reasoning"}:${id}`;
}

function asChunk(chunk: UIMessageChunk | DeltaRun): UIMessageChunk {
  return "deltas" in chunk ? { ...chunk.last, delta: [...chunk.joined, ...chunk.deltas].join("") } : chunk;
}
