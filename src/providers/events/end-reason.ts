import { wordIn } from "./fields.ts";

/**
 * Why an answer ended, as far as its vendor says. A blank reason says that it ended, but not why, where it
 * comes once and with the last of the answer; some servers have one in each event.
 */
export class EndReason {
  #isSaid = false;
  #blanks = 0;
  #endsBlank = false;

  /** Takes the reason of an event that holds something of the answer; returns it where one stands there. */
  read(value: unknown): string | undefined {
    const reason = wordIn(value);
    this.#isSaid ||= reason !== undefined;
    this.#endsBlank = value === "";
    if (this.#endsBlank) this.#blanks += 1;
    return reason;
  }

  get isSaid(): boolean {
    return this.#isSaid;
  }

  /** Whether the answer has ended with a blank reason alone. */
  get isBlank(): boolean {
    return !this.#isSaid && this.#blanks === 1 && this.#endsBlank;
  }
}
