import { clearTimeout, setTimeout } from "node:timers";
import {
  type Batch,
  dropBefore,
  type Followed,
  lastOf,
  relayNewLogMs,
  relayPageChars,
  relayPageEntriesMax,
  relayPageEntriesMin,
} from "./relay.ts";
import { isMark, type Mark } from "./scripts.ts";

/** What one read of a log from a given event found. */
export interface LogPage {
  /** The events, merged; null when there are none yet. */
  readonly batch: Batch | null;
  /** The end or seal, when the read came to it. */
  readonly mark: Mark | null;
  /** How many entries were read. */
  readonly entries: number;
  /** Whether there may be more to read. */
  readonly more: boolean;
}

/**
 * One follower's place in a log. Events reach it in two ways, as published
 * batches and as pages it reads; it compares numbers only, so the two may overlap
 * or race in any way and the follower still sees each event once. It keeps at most
 * one batch and one page, whatever is published meanwhile: what it has no room for
 * it remembers as a number and reads later, at its own pace.
 */
export class LogCursor {
  /** The number of the next event to hand over. */
  next: number;
  /** How many entries the next page should have. */
  pageEntries = relayPageEntriesMin;
  #page: Batch | null = null;
  #live: Batch | null = null;
  #mark: Mark | null = null;
  #known = 0;
  #forced = false;
  #reading = false;
  #lost = false;
  #wake: (() => void) | null = null;
  #isNew: boolean;
  #doubt: NodeJS.Timeout | null = null;

  /** `isNew`: the log is only just beginning. */
  constructor(from: number, isNew = false) {
    this.next = from;
    this.#isNew = isNew;
  }

  /** What to hand over now; null when there is nothing. */
  take(): Followed | null {
    const batch = this.#takeBatch();
    if (batch !== null) {
      this.next = lastOf(batch) + 1;
      return { type: "batch", batch };
    }
    const mark = this.#mark;
    if (mark !== null && this.next > mark.tail) {
      const torn = mark.type === "end" && this.next !== mark.tail + 1;
      return { type: torn ? "lost" : mark.type };
    }
    return this.#lost ? { type: "lost" } : null;
  }

  /** What was read or published may have been handed over the other way meanwhile. */
  #takeBatch(): Batch | null {
    const page = this.#page === null ? null : dropBefore(this.#page, this.next);
    this.#page = null;
    if (page !== null) return page;
    const live = this.#live === null ? null : dropBefore(this.#live, this.next);
    this.#live = null;
    return live;
  }

  /** Whether the log holds, or may hold, something that has to be read. */
  get stale(): boolean {
    if (this.#reading) return false;
    return this.#forced || this.#known >= this.next || (this.#mark !== null && this.#mark.tail >= this.next);
  }

  /**
   * The subscription stands: the log is read, for what was published before. One
   * that was new when its follower came is not, for almost always nothing was: its
   * first publication tells by its number whether one is missing, and when none
   * comes for a while the log is read after all.
   */
  confirm(): void {
    const wasNew = this.#isNew;
    this.#isNew = false;
    if (!wasNew) this.force();
    else if (this.#live === null && !this.stale) this.#doubt = setTimeout(() => this.force(), relayNewLogMs).unref();
  }

  /** Something was published. */
  publish(item: Batch | Mark): void {
    if (this.#doubt !== null) clearTimeout(this.#doubt);
    this.#doubt = null;
    if (isMark(item)) this.#mark = item;
    else if (this.#live === null && item.first <= this.next && lastOf(item) >= this.next) this.#live = item;
    else this.#known = Math.max(this.#known, lastOf(item));
    this.wake();
  }

  /** The log has to be read, whatever was published. */
  force(): void {
    this.#forced = true;
    this.wake();
  }

  /** The sequence cannot be given. */
  lose(): void {
    this.#lost = true;
    this.wake();
  }

  /** A read starts. What is published from here on may be missing in its page and is remembered anew. */
  startRead(): void {
    this.#reading = true;
    this.#forced = false;
    this.#known = 0;
    this.#mark = null;
  }

  /** The read that was started has ended; null: it failed, or the log has a gap before `next`. */
  endRead(page: LogPage | null): void {
    this.#reading = false;
    if (page === null) {
      this.lose();
      return;
    }
    this.#page = page.batch;
    this.#mark = page.mark ?? this.#mark;
    this.#forced ||= page.more;
    if (page.batch !== null) {
      const fitting = Math.floor((relayPageChars * page.entries) / page.batch.sse.length);
      this.pageEntries = Math.min(Math.max(fitting, 1), relayPageEntriesMax);
    }
    this.wake();
  }

  /** Ends the wait of `woken`. */
  wake(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  /** Resolves at the next `wake`. For one waiter, which has looked at the cursor in the same step. */
  woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
