import type { Chunk } from "../harness/stream-reader.ts";
import type { OnBusy } from "./plan.ts";

/** A UI message, as clients send and read it. */
export interface Message {
  readonly id: string;
  readonly role: "user" | "assistant";
  // biome-ignore lint/suspicious/noExplicitAny: a message's parts are of many kinds.
  readonly parts: readonly any[];
}

/** What a caller says that its tool has done. */
export interface ToolResult {
  readonly output?: unknown;
  readonly errorText?: string;
}

/** One request of a client, and its response. */
export interface Entry {
  /** Also the request's `X-Request-Id`. Requests of one operation have the same `op`. */
  readonly id: string;
  readonly op: string;
  readonly kind: string;
  readonly sessionId: string | null;
  /** What a turn says, or null for a regeneration. */
  readonly message?: Message | null;
  /** Of a regeneration: the message it was to cut at. Of a fork: the last one that it was to have. */
  readonly cutAt?: string | null;
  /** What was to become of a turn that found its session busy; it is turned away where nothing is said. */
  readonly onBusy?: OnBusy;
  readonly startedAt: number;
  /** The result that it gave to a client tool's call. */
  readonly result?: ToolResult;
  /** When the response began. */
  respondedAt: number | null;
  endedAt: number | null;
  /** Null: the connection broke before a response, so that nobody knows. */
  status: number | null;
  code: string | null;
  turnId: string | null;
  location: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: responses are of many kinds.
  body: any;
  reading: Reading | null;
  /** Why there was no response. */
  failure: string | null;
}

/** What a follower saw of a log. */
export interface Reading {
  /** The number of the first event that it asked for. */
  readonly from: number;
  readonly ids: string[];
  readonly chunks: Chunk[];
  /** `[DONE]` has come. */
  finished: boolean;
  /** The client left. */
  left: boolean;
}

/** All that clients did, in the order in which they began it. */
export class History {
  readonly entries: Entry[] = [];
  /** Sessions that somebody was told of. */
  readonly sessions = new Set<string>();

  begin(entry: Pick<Entry, "id" | "op" | "kind" | "sessionId" | "message" | "cutAt" | "onBusy" | "result">): Entry {
    const begun: Entry = {
      ...entry,
      startedAt: Date.now(),
      respondedAt: null,
      endedAt: null,
      status: null,
      code: null,
      turnId: null,
      location: null,
      body: null,
      reading: null,
      failure: null,
    };
    this.entries.push(begun);
    return begun;
  }

  /** Counts by kind and response, to be read by people. */
  summary(): string {
    const counts = new Map<string, number>();
    for (const { kind, status, code } of this.entries) {
      const name = `${kind} ${status ?? "broken"}${code === null ? "" : ` ${code}`}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return [...counts]
      .sort()
      .map(([name, count]) => `${name}: ${count}`)
      .join(", ");
  }
}

/** The name under which a reading's events are numbered, at its beginning: that of a log, and what stands before it. */
export function nameOf({ ids }: Reading): string | null {
  return ids[0]?.split(":")[0] ?? null;
}

/** The log that a reading is of: a turn's or a continuation's. */
export function logOf(reading: Reading): string | null {
  return nameOf(reading)?.split(/[.+]/)[0] ?? null;
}

/** What of a reading was made of a message that was stored: `stored` of a turn that had ended, `now` of any other. Null: nothing. */
export function storedIn({ ids }: Reading): "stored" | "now" | null {
  const made = /\+(stored|now):/.exec(ids.at(-1) ?? "")?.[1];
  return (made as "stored" | "now" | undefined) ?? null;
}
