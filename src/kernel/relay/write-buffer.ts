import { type Batch, relayLogBytesMax } from "./relay.ts";

/** A batch that is still being collected. */
interface Draft {
  readonly first: number;
  count: number;
  sse: string;
  bytes: number;
  madeAtMs?: number;
}

/**
 * What one attempt has written, cut into batches, and how much of it the relay has
 * confirmed. All of it is kept, to be written again if the relay loses it, up to
 * `keptBytesMax`; from then on only what is not confirmed. When that alone is more, or
 * when the relay loses what is kept here no more, the buffer is given up: it only counts.
 */
export class WriteBuffer {
  readonly #batchBytesMax: number;
  readonly #keptBytesMax: number;
  #drafts: Draft[] = [];
  /** How many drafts the relay has confirmed. */
  #sent = 0;
  /** How many drafts were handed out; nothing is added to those any more. */
  #cut = 0;
  #bytes = 0;
  #sentBytes = 0;
  #written = 0;
  /** Whether the first event is still here. */
  #isWhole = true;
  #isGivenUp = false;

  /** `held` is how many events the log has already, which are not here. */
  constructor(
    batchBytesMax: number,
    {
      keptBytesMax = relayLogBytesMax,
      held = 0,
    }: { readonly keptBytesMax?: number | undefined; readonly held?: number | undefined } = {},
  ) {
    this.#batchBytesMax = batchBytesMax;
    this.#keptBytesMax = keptBytesMax;
    this.#written = held;
    this.#isWhole = held === 0;
  }

  /** The number of the last event. */
  get written(): number {
    return this.#written;
  }

  /** Whether nothing is sent any more. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** The number of the last event that the relay has. */
  get confirmed(): number {
    const draft = this.#drafts[this.#sent];
    return draft === undefined ? this.#written : draft.first - 1;
  }

  /** Whether there are events that the relay has not confirmed. */
  get unsent(): boolean {
    return this.#sent < this.#drafts.length;
  }

  /** How many bytes are kept. */
  get keptBytes(): number {
    return this.#drafts.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** How many bytes the relay has not confirmed. */
  get unsentBytes(): number {
    return this.#bytes - this.#sentBytes;
  }

  /** Adds the next event, `bytes` long. */
  add(sse: string, bytes: number): void {
    this.#written++;
    if (this.#isGivenUp) return;
    this.#bytes += bytes;
    append(this.#drafts, this.#cut, { first: this.#written, count: 1, sse, bytes }, this.#batchBytesMax);
    if (this.#bytes <= this.#keptBytesMax) return;
    this.#dropConfirmed();
    if (this.unsentBytes > this.#keptBytesMax) this.#giveUp();
  }

  /** Whether the batch to send next is the last one so far. */
  get isOnLast(): boolean {
    return this.#sent >= this.#drafts.length - 1;
  }

  /** Returns the batch to send next, without events when the relay has all. Nothing is added to it any more. */
  next(): Batch {
    const draft = this.#drafts[this.#sent];
    if (draft === undefined) return { first: this.#written + 1, count: 0, sse: "" };
    this.#cut = Math.max(this.#cut, this.#sent + 1);
    return draft;
  }

  /** Notes that the relay has this batch, which `next` returned. */
  confirm(batch: Batch): void {
    const draft = this.#drafts[this.#sent];
    // An empty batch does not confirm what was written since.
    if (draft === undefined || draft !== batch) return;
    this.#sentBytes += draft.bytes;
    this.#sent++;
    if (!this.#isWhole) this.#dropConfirmed();
  }

  #dropConfirmed(): void {
    this.#drafts.splice(0, this.#sent);
    this.#cut = Math.max(0, this.#cut - this.#sent);
    this.#sent = 0;
    this.#isWhole = false;
  }

  #giveUp(): void {
    this.#isGivenUp = true;
    this.#drafts = [];
    this.#sent = 0;
    this.#cut = 0;
    this.#sentBytes = this.#bytes;
  }

  /** Starts again from the first event, in as few batches as possible: the relay has nothing. Gives up when that event is gone. */
  rewind(): void {
    if (!this.#isWhole) {
      this.#giveUp();
      return;
    }
    const drafts: Draft[] = [];
    for (const draft of this.#drafts) append(drafts, 0, draft, this.#batchBytesMax);
    this.#drafts = drafts;
    this.#sent = 0;
    this.#cut = 0;
    this.#sentBytes = 0;
  }
}

/** Adds to the last draft when it was not handed out (its index is not below `cut`) and has room, else makes a new one. */
function append(drafts: Draft[], cut: number, added: Draft, bytesMax: number): void {
  const last = drafts.length > cut ? drafts.at(-1) : undefined;
  if (last === undefined || last.bytes + added.bytes > bytesMax) {
    drafts.push({ ...added, madeAtMs: added.madeAtMs ?? Date.now() });
    return;
  }
  last.count += added.count;
  last.sse += added.sse;
  last.bytes += added.bytes;
}
