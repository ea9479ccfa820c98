import { Batcher } from "../async/batcher.ts";
import { type Batch, relayGroupCharsMax, relayGroupMax } from "./relay.ts";

/** What is to be appended to one log. */
export interface Append {
  readonly name: string;
  readonly batch: Batch;
  /** Whether the log ends with this batch. */
  readonly ends: boolean;
  /** Who writes. */
  readonly claim: number;
}

/** Sends the appends of many logs; `fields` has `first, count, sse, ends, madeAt, claim` for each. Returns a result for each. */
export type SendAppends = (names: readonly string[], fields: readonly (string | number)[]) => Promise<unknown>;

/** What the script returned for one append; undefined when it returned too few. */
type Result = string | number | undefined;

/** The appends of all logs of a process. Sharing commands halves the cost of each, in this process as in Redis. */
export class Appends {
  readonly #batcher: Batcher<Append, Result>;

  constructor(send: SendAppends) {
    this.#batcher = new Batcher((group) => sendGroup(send, group), {
      countMax: relayGroupMax,
      gathers: true,
      size: { of: ({ batch }) => batch.sse.length, max: relayGroupCharsMax },
    });
  }

  /** Returns the script's result for this append. Rejects when the command failed, or Redis refused this append. */
  async add(append: Append): Promise<string | number> {
    const result = await this.#batcher.add(append);
    if (result === undefined || (typeof result === "string" && result.startsWith("error")))
      throw new Error(`Redis refused an append: ${result}.`);
    return result;
  }
}

async function sendGroup(send: SendAppends, group: readonly Append[]): Promise<readonly Result[]> {
  const names: string[] = [];
  const fields: (string | number)[] = [];
  for (const { name, batch, ends, claim } of group) {
    const { first, count, sse, madeAtMs = "" } = batch;
    names.push(name);
    fields.push(first, count, sse, ends ? 1 : 0, madeAtMs, claim);
  }
  return (await send(names, fields)) as Result[];
}
