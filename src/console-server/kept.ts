/** What is kept is kept at least this long, and then for this many times as long as reading it took: polling pages take a small share of one connection. */
const keptMsMin = 2_000;
const keptMsMax = 60_000;
const keptTimesTaken = 20;
/** Readings that a process keeps of one kind. */
const keptMax = 1_000;

interface Reading<Value> {
  readonly value: Promise<Value>;
  /** By `performance.now()`. */
  until: number;
}

/** What pages of this process have asked for lately, by a name of what it is about. */
export class Kept<Value> {
  readonly #kept = new Map<string, Reading<Value>>();

  /** Returns what is kept under a name or being read, else a new reading. Throws what `read` throws. */
  read(name: string, read: () => Promise<Value>): Promise<Value> {
    const startedAt = performance.now();
    const known = this.#kept.get(name);
    if (known !== undefined && known.until > startedAt) return known.value;
    const kept: Reading<Value> = { value: read(), until: Number.POSITIVE_INFINITY };
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > keptMax && oldest !== undefined) this.#kept.delete(oldest);
    kept.value.then(
      () => {
        const now = performance.now();
        kept.until = now + Math.min(keptMsMax, Math.max(keptMsMin, keptTimesTaken * (now - startedAt)));
      },
      () => {
        if (this.#kept.get(name) === kept) this.#kept.delete(name);
      },
    );
    return kept.value;
  }
}
