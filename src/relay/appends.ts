import { type Batch, relayGroupCharsMax, relayGroupMax } from "./relay.ts";

/** What is to be appended to one log. */
export interface Append {
  readonly name: string;
  readonly batch: Batch;
  /** Whether the log ends with it. */
  readonly ends: boolean;
}

/** Sends the appends of many logs; `fields` has `first, count, sse, ends, madeAt` for each. Answers one by one. */
export type SendAppends = (names: readonly string[], fields: readonly (string | number)[]) => Promise<unknown>;

interface Waiting {
  readonly append: Append;
  readonly resolve: (answer: string | number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The appends of all logs of a process: while one command is under way, those
 * that come gather for the next one. An append alone goes at once, and the more
 * there are the more share a command, a write and a read: half the cost of each,
 * in this process as in Redis.
 */
export class Appends {
  readonly #send: SendAppends;
  #waiting: Waiting[] = [];
  #sending = false;

  constructor(send: SendAppends) {
    this.#send = send;
  }

  /** What the script says of this append. Rejects when the command failed, or Redis refused this one. */
  add(append: Append): Promise<string | number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ append, resolve, reject });
      if (!this.#sending) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, groupLength(this.#waiting));
      try {
        const answers = (await this.#sendGroup(group)) as (string | number)[];
        for (const [index, waiting] of group.entries()) settle(waiting, answers[index]);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#sending = false;
  }

  #sendGroup(group: readonly Waiting[]): Promise<unknown> {
    const names: string[] = [];
    const fields: (string | number)[] = [];
    for (const { append } of group) {
      const { first, count, sse, madeAtMs = "" } = append.batch;
      names.push(append.name);
      fields.push(first, count, sse, append.ends ? 1 : 0, madeAtMs);
    }
    return this.#send(names, fields);
  }
}

/** How many of those that wait, from the first on, go into one command. */
function groupLength(waiting: readonly Waiting[]): number {
  let chars = 0;
  for (const [index, { append }] of waiting.entries()) {
    chars += append.batch.sse.length;
    if (index > 0 && (index >= relayGroupMax || chars > relayGroupCharsMax)) return index;
  }
  return waiting.length;
}

function settle({ resolve, reject }: Waiting, answer: string | number | undefined): void {
  if (answer === undefined || (typeof answer === "string" && answer.startsWith("error")))
    reject(new Error(`Redis refused an append: ${answer}.`));
  else resolve(answer);
}
