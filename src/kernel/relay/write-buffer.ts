import type { Batch } from "./relay.ts";

/** A batch that is still being collected. */
interface Draft {
  readonly first: number;
  count: number;
  sse: string;
  bytes: number;
  madeAtMs?: number;
}

/** Everything one attempt has written, cut into batches, and how much of it the relay has confirmed. */
export class WriteBuffer {
  readonly #batchBytesMax: number;
  #drafts: Draft[] = [];
  /** How many drafts the relay has. */
  #sent = 0;
  /** How many drafts were handed out; those are no longer added to. */
  #cut = 0;
  #bytes = 0;
  #sentBytes = 0;
  #written = 0;

  constructor(batchBytesMax: number) {
    this.#batchBytesMax = batchBytesMax;
  }

  /** The number of the last event. */
  get written(): number {
    return this.#written;
  }

  /** The number of the last event that the relay has. */
  get confirmed(): number {
    const draft = this.#drafts[this.#sent];
    return draft === undefined ? this.#written : draft.first - 1;
  }

  /** Whether the relay lacks anything. */
  get unsent(): boolean {
    return this.#sent < this.#drafts.length;
  }

  /** How much the relay lacks. */
  get unsentBytes(): number {
    return this.#bytes - this.#sentBytes;
  }

  /** Adds the next event, `bytes` long. */
  add(sse: string, bytes: number): void {
    this.#written++;
    this.#bytes += bytes;
    append(this.#drafts, this.#cut, { first: this.#written, count: 1, sse, bytes }, this.#batchBytesMax);
  }

  /** The batch to send next, of no events when the relay has all, and whether nothing comes after it. */
  next(): { batch: Batch; isLast: boolean } {
    const draft = this.#drafts[this.#sent];
    if (draft === undefined) return { batch: { first: this.#written + 1, count: 0, sse: "" }, isLast: true };
    this.#cut = Math.max(this.#cut, this.#sent + 1);
    return { batch: draft, isLast: this.#sent === this.#drafts.length - 1 };
  }

  /** The relay has this batch, which `next` handed out. */
  confirm(batch: Batch): void {
    const draft = this.#drafts[this.#sent];
    // An empty batch confirms nothing that was written since.
    if (draft === undefined || draft !== batch) return;
    this.#sentBytes += draft.bytes;
    this.#sent++;
  }

  /** The relay has nothing of it: starts over, in as few batches as may be. */
  rewind(): void {
    const drafts: Draft[] = [];
    for (const draft of this.#drafts) append(drafts, 0, draft, this.#batchBytesMax);
    this.#drafts = drafts;
    this.#sent = 0;
    this.#cut = 0;
    this.#sentBytes = 0;
  }
}

/** Adds to the last draft when it still takes additions (its index is not below `cut`) and has room. */
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
