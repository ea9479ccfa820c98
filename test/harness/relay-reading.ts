import { setTimeout as delay } from "node:timers/promises";
import { type Batch, formatEvent, type LogKey, type Relay } from "../../src/kernel/relay/relay.ts";

/** A condition that does not hold by now never will, in milliseconds. */
const untilMsMax = 20_000;

let keys = 0;

/** A log nobody has used. */
export function newKey(): LogKey {
  keys++;
  return { logId: `turn_${keys.toString(36).padStart(24, "0")}`, attempt: 1 };
}

/** Events `first` … `last` of a turn, each with a chunk of about `chars` characters. */
export function batchOf(key: LogKey, first: number, last: number, chars = 10): Batch {
  let sse = "";
  for (let number = first; number <= last; number++) sse += formatEvent(key.logId, number, chunkOf(number, chars));
  return { first, count: last - first + 1, sse };
}

/** A chunk that shows its number, and text that is easily broken: multi-byte characters, line separators, blank lines. */
export function chunkOf(number: number, chars = 10): unknown {
  return { type: "text-delta", id: `${number}`, delta: `é\u2028\n\n${"x".repeat(chars)}` };
}

/** What one follower has seen so far. */
export interface Reading {
  /** All batches in a row. */
  text: string;
  /** The number of the last event. */
  last: number;
  /** How it ended; null while it has not, `aborted` when its signal stopped it. */
  ending: "end" | "sealed" | "lost" | "aborted" | null;
  /** Resolves when it has ended. */
  readonly done: Promise<Reading>;
  readonly abort: () => void;
}

/** Follows a log from event `from`, and fails on a gap, a duplicate or anything after the end. */
export function read(relay: Relay, key: LogKey, from = 1, isNew = false): Reading {
  const controller = new AbortController();
  const ending = Promise.withResolvers<Reading>();
  const reading: Reading = {
    text: "",
    last: from - 1,
    ending: null,
    done: ending.promise,
    abort: () => controller.abort(),
  };
  const run = async () => {
    for await (const step of relay.follow(key, from, controller.signal, isNew)) {
      if (reading.ending !== null) throw new Error(`${step.type} after ${reading.ending}`);
      if (step.type !== "batch") {
        reading.ending = step.type;
        continue;
      }
      if (step.batch.first !== reading.last + 1 || step.batch.count < 1) {
        throw new Error(`event ${step.batch.first} (${step.batch.count}) after ${reading.last}`);
      }
      reading.last += step.batch.count;
      reading.text += step.batch.sse;
    }
    reading.ending ??= "aborted";
    return reading;
  };
  run().then(ending.resolve, ending.reject);
  return reading;
}

/** Follows to the end, again whenever the relay says `lost`, as a reader in the service does. */
export async function readThroughLosses(relay: Relay, key: LogKey, msMax = untilMsMax): Promise<string> {
  const deadline = Date.now() + msMax;
  let text = "";
  let next = 1;
  while (Date.now() < deadline) {
    const reading = await read(relay, key, next).done;
    text += reading.text;
    next = reading.last + 1;
    if (reading.ending !== "lost") return text;
    await delay(20);
  }
  throw new Error(`still lost at event ${next}`);
}

/** Waits for a condition, and fails when it does not come to hold in time. */
export async function until(holds: () => boolean | Promise<boolean>, msMax = untilMsMax): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${msMax} ms: ${holds}`);
    await delay(5);
  }
}
