import { readBytes } from "../bounded-read.ts";
import { strangeBodyMsMax } from "../limits.ts";

/**
 * Reads bodies of which it is not known yet who sends them. A bounded number of a kind come at once; one
 * more makes the one that has been coming for the longest time give way. So a slow sender keeps
 * no other out: what is sent at once is there long before it is the oldest.
 */
export class StrangeBodies {
  readonly #atOnceMax: number;
  /** Those that come now, by kind, the oldest first. */
  readonly #coming = new Map<string, Set<AbortController>>();

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** Returns a body of at most `bytesMax`. Throws as `readBytes`, and 400 for one that takes longer than `strangeBodyMsMax` in all, or gave way. */
  async read(kind: string, request: Request, bytesMax: number): Promise<Uint8Array> {
    const coming = this.#coming.get(kind) ?? new Set();
    this.#coming.set(kind, coming);
    const [oldest] = coming;
    if (oldest !== undefined && coming.size >= this.#atOnceMax) {
      coming.delete(oldest);
      oldest.abort();
    }
    const own = new AbortController();
    coming.add(own);
    try {
      return await readBytes(request, bytesMax, { wholeMsMax: strangeBodyMsMax, signal: own.signal });
    } finally {
      coming.delete(own);
      if (coming.size === 0 && this.#coming.get(kind) === coming) this.#coming.delete(kind);
    }
  }
}
