import type { UIMessageChunk } from "ai";
import { chunksOfEvents } from "../../kernel/relay/relay.ts";
import { SeenChunks } from "../../messages/seen-chunks.ts";
import type { UiMessage } from "../../messages/ui-message.ts";

/** This many characters of events are kept as they came. Most turns have fewer, and so their events are never parsed here. */
const unreadCharsMax = 16 * 1024;

/** What a reader has been given of a turn log, from its first event on. */
export class SeenEvents {
  #seen = new SeenChunks();
  #unread: string[] = [];
  #unreadChars = 0;
  /** Whether nothing came before what is here. */
  #isWhole: boolean;

  /** `isWhole`: the reader begins with the log's first event. */
  constructor(isWhole: boolean) {
    this.#isWhole = isWhole;
  }

  /** The reader begins anew. */
  reset(): void {
    this.#seen = new SeenChunks();
    this.#unread = [];
    this.#unreadChars = 0;
    this.#isWhole = true;
  }

  /** Notes the next events. */
  add(sse: string): void {
    if (!this.#isWhole) return;
    this.#unread.push(sse);
    this.#unreadChars += sse.length;
    if (this.#unreadChars > unreadCharsMax) this.#read();
  }

  #read(): void {
    for (const sse of this.#unread) for (const chunk of chunksOfEvents(sse)) this.#seen.note(chunk as UIMessageChunk);
    this.#unread = [];
    this.#unreadChars = 0;
  }

  /** Returns the chunks that the reader misses of the message (`SeenChunks.rest`); null when no one knows. */
  rest(message: UiMessage, before: UiMessage | null): unknown[] | null {
    if (!this.#isWhole) return null;
    this.#read();
    return this.#seen.rest(message, before);
  }
}
