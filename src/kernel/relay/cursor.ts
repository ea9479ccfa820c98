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
  /** The end mark or seal, when the read reached it. */
  readonly mark: Mark | null;
  /** How many entries were read. */
  readonly entries: number;
  /** Whether there may be more to read. */
  readonly more: boolean;
}

/**
 * One follower's position in a log. Events reach it in two ways, as published
 * batches and as pages it reads; it compares numbers only, so the two may overlap
 * or race in any way and the follower still sees each event once. It keeps at most
 * one batch and one page, whatever is published meanwhile: of a batch beyond that it
 * keeps the number only, and reads the events later, as fast as the follower takes them.
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
  /** Reads the log of a new follower when nothing is published in time. */
  #firstRead: NodeJS.Timeout | null = null;

  /** `isNew`: the log has probably no events yet. */
  constructor(from: number, isNew = false) {
    this.next = from;
    this.#isNew = isNew;
  }

  /** Returns what the follower gets now; null when there is nothing. */
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

  /** Returns the events not handed over yet: what was read may have been published, or the reverse, and handed over meanwhile. */
  #takeBatch(): Batch | null {
    const page = this.#page === null ? null : dropBefore(this.#page, this.next);
    this.#page = null;
    if (page !== null) return page;
    const live = this.#live === null ? null : dropBefore(this.#live, this.next);
    this.#live = null;
    return live;
  }

  /** Whether the log has to be read: it has, or may have, events that are not here. */
  get stale(): boolean {
    if (this.#reading) return false;
    return this.#forced || this.#known >= this.next || (this.#mark !== null && this.#mark.tail >= this.next);
  }

  /**
   * Redis has confirmed the subscription: the log is read, for what was published
   * before. A log that was new when its follower came is not read, because almost
   * always it has no events: the number of its first publication shows whether one is
   * missing, and when none comes within `relayNewLogMs` the log is read after all.
   */
  confirm(): void {
    const wasNew = this.#isNew;
    this.#isNew = false;
    if (!wasNew) this.force();
    else if (this.#live === null && !this.stale)
      this.#firstRead = setTimeout(() => this.force(), relayNewLogMs).unref();
  }

  /** Takes a publication. */
  publish(item: Batch | Mark): void {
    if (this.#firstRead !== null) clearTimeout(this.#firstRead);
    this.#firstRead = null;
    if (isMark(item)) this.#mark = item;
    else if (this.#live === null && item.first <= this.next && lastOf(item) >= this.next) this.#live = item;
    else this.#known = Math.max(this.#known, lastOf(item));
    this.wake();
  }

  /** Makes the follower read the log, whatever was published. */
  force(): void {
    this.#forced = true;
    this.wake();
  }

  /** Makes the follower get `lost`: the sequence cannot be given. */
  lose(): void {
    this.#lost = true;
    this.wake();
  }

  /** Begins a read. What is published from here on may be missing in its page, so it is noted from here on. */
  startRead(): void {
    this.#reading = true;
    this.#forced = false;
    this.#known = 0;
    this.#mark = null;
  }

  /** Ends the read that was begun, with its page; null: it failed, or the log has a gap before `next`. */
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

  /** Resolves the promise that `woken` has returned. */
  wake(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  /** Resolves at the next `wake`. For one waiter, which has called `take` in the same synchronous step. */
  woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
