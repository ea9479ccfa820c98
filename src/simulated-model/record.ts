/** The requests that the simulated model received, for tests. */

/** One request, for tests to examine. */
export interface RecordedRequest {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  readonly path: string;
  /** Lower-case names; a credential is kept as `…` and its last four characters. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body; `null` when there was none or it was not JSON. */
  readonly body: unknown;
  /** Whether the client closed the connection before the answer ended. */
  readonly aborted: boolean;
  /** When the answer ended or the client closed, in milliseconds since 1970; `null` while it runs. */
  readonly finishedAt: number | null;
}

/** At most this many requests are kept; the oldest are removed first. */
const requestsMax = 1000;
/** The size limit of all kept bodies together, in UTF-16 units; the oldest are removed first. */
const bodyUnitsMax = 64 * 1024 * 1024;

const credentialHeaders = new Set(["authorization", "x-api-key", "api-key", "cookie"]);

interface Entry {
  request: { -readonly [name in keyof RecordedRequest]: RecordedRequest[name] };
  readonly units: number;
}

/** A handle on one record. */
export interface Recording {
  finish(aborted: boolean): void;
}

/** The bounded list of requests. */
export class Recorder {
  #entries: Entry[] = [];
  #units = 0;

  /** Notes a request; `units` is the length of its body text. */
  add(request: Request, path: string, body: unknown, units: number): Recording {
    const headers: Record<string, string> = {};
    request.headers.forEach((value, name) => {
      headers[name] = credentialHeaders.has(name) ? `…${value.slice(-4)}` : value;
    });
    const entry: Entry = { request: { at: Date.now(), path, headers, body, aborted: false, finishedAt: null }, units };
    this.#entries.push(entry);
    this.#units += units;
    while (this.#entries.length > requestsMax || this.#units > bodyUnitsMax)
      this.#units -= this.#entries.shift()!.units;
    return {
      finish: (aborted) => {
        if (entry.request.finishedAt !== null) return;
        entry.request.aborted = aborted;
        entry.request.finishedAt = Date.now();
      },
    };
  }

  /** A copy of the list, oldest first. */
  list(): ReadonlyArray<RecordedRequest> {
    return this.#entries.map(({ request }) => ({ ...request }));
  }

  clear(): void {
    this.#entries = [];
    this.#units = 0;
  }
}
