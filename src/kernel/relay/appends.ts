import { Batcher } from "../async/batcher.ts";
import type { RelayReach } from "./reach.ts";
import { type Appending, type Batch, type OnSent, relayGroupCharsMax, relayGroupMax } from "./relay.ts";

/** Which log is appended to. */
interface AppendedLog {
  readonly name: string;
  /** Whether the log ends with this batch. */
  readonly ends: boolean;
  /** Who writes. */
  readonly claim: number;
}

/** What is to be appended to one log. Its batch is taken when the group is sent that it goes with. */
export class Append {
  readonly log: AppendedLog;
  readonly onSent: OnSent;
  #batch: Appending;

  constructor(log: AppendedLog, batch: Appending, onSent: OnSent) {
    this.log = log;
    this.onSent = onSent;
    this.#batch = batch;
  }

  /** The batch; from the first time that it is asked for, nothing is added to it. */
  get batch(): Batch {
    if (typeof this.#batch === "function") this.#batch = this.#batch();
    return this.#batch;
  }
}

/** Sends the appends of many logs; `fields` has `first, count, sse, ends, madeAt, claim` for each. Returns a result for each. */
export type SendAppends = (names: readonly string[], fields: readonly (string | number)[]) => Promise<unknown>;

/** What the script returned for one append; undefined when it returned too few. */
type Result = string | number | undefined;

/** The appends of all logs of a process. Sharing commands halves the cost of each, in this process as in Redis. */
export class Appends {
  readonly #batcher: Batcher<Append, Result>;

  readonly #reach: RelayReach;

  /** `reach` is told what becomes of them. */
  constructor(send: SendAppends, reach: RelayReach) {
    this.#reach = reach;
    this.#batcher = new Batcher((group) => sendGroup(send, group), {
      countMax: relayGroupMax,
      gathers: true,
      size: { of: ({ batch }) => batch.sse.length, max: relayGroupCharsMax },
    });
  }

  /** Returns the script's result for this append. Rejects when the command failed, or Redis refused this append. */
  async add(append: Append): Promise<string | number> {
    try {
      const result = await this.#batcher.add(append);
      if (result === undefined || (typeof result === "string" && result.startsWith("error")))
        throw new Error(`Redis refused an append: ${result}.`);
      this.#reach.worked();
      return result;
    } catch (error) {
      this.#reach.failed(error as Error);
      throw error;
    }
  }
}

async function sendGroup(send: SendAppends, group: readonly Append[]): Promise<readonly Result[]> {
  const names: string[] = [];
  const fields: (string | number)[] = [];
  for (const { log, batch } of group) {
    const { name, ends, claim } = log;
    const { first, count, sse, madeAtMs = "" } = batch;
    names.push(name);
    fields.push(first, count, sse, ends ? 1 : 0, madeAtMs, claim);
  }
  const sending = send(names, fields);
  for (const { onSent } of group) onSent();
  return (await sending) as Result[];
}
