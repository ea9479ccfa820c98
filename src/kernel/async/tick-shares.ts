/**
 * Shares the event loop between holders whose work comes faster than it is done: in one
 * round of the loop each holder gets the same amount, and what is more waits for the next
 * round. A holder that has little passes at once, and when only one holder has work it gets
 * every round.
 */
export class TickShares {
  readonly #amountMax: number;
  /** What each holder has got in this round. */
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, { readonly amount: number; readonly pass: () => void }[]>();
  #isScheduled = false;

  /** In one round a holder's work begins as long as it got less than `amountMax` before, in whatever unit the callers count. */
  constructor(amountMax: number) {
    this.#amountMax = amountMax;
  }

  /** Returns null when the work may begin now, else a promise of the round in which it may. */
  turn(holder: string, amount: number): Promise<void> | null {
    this.#schedule();
    const queue = this.#waiting.get(holder);
    if (queue === undefined && this.#take(holder, amount)) return null;
    return new Promise((pass) => {
      if (queue === undefined) this.#waiting.set(holder, [{ amount, pass }]);
      else queue.push({ amount, pass });
    });
  }

  #take(holder: string, amount: number): boolean {
    const used = this.#used.get(holder) ?? 0;
    if (used >= this.#amountMax) return false;
    this.#used.set(holder, used + amount);
    return true;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#nextRound());
  }

  #nextRound(): void {
    this.#isScheduled = false;
    this.#used.clear();
    for (const [holder, queue] of this.#waiting) {
      let passed = 0;
      while (passed < queue.length && this.#take(holder, queue[passed]?.amount ?? 0)) queue[passed++]?.pass();
      queue.splice(0, passed);
      if (queue.length === 0) this.#waiting.delete(holder);
    }
    if (this.#used.size > 0) this.#schedule();
  }
}
