/**
 * Clients of a rolling deploy: they ask for turns of three steps, two of which call a tool that counts, and follow
 * them at whatever HTTP process lives; where a stream breaks off, they join again behind the last event they saw.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { type Chunk, StreamReader } from "../test/harness/stream-reader.ts";

/** What a balancer knows: the HTTP processes that take requests just now. */
export class Balancer {
  readonly urls: string[];
  #asked = 0;

  constructor(urls: readonly string[]) {
    this.urls = [...urls];
  }

  /** Returns the next address, around and around. */
  pick(): string {
    this.#asked += 1;
    return this.urls[this.#asked % this.urls.length] ?? "";
  }

  /** Puts an address in the place of another, to which nothing is sent any more. */
  replace(old: string, fresh: string): void {
    this.urls.splice(this.urls.indexOf(old), 1, fresh);
  }
}

/** What a turn came to, as its readers saw it. */
export interface DeployedTurn {
  /** When it was asked for and when its first reader saw the end, in milliseconds since 1970. */
  readonly askedAt: number;
  readonly endedAt: number;
  /** The first text came after so many milliseconds. */
  readonly firstTextMs: number;
  /** The longest time in which its first reader saw nothing. */
  readonly silenceMs: number;
  /** Streams, of all its readers, that broke off and were joined again. */
  readonly rejoined: number;
  /** Readers that were told to begin anew, because their place in the sequence could not be proven: event 0 came again. */
  readonly restarted: number;
  /** Requests that found no process, or were refused because one was ending, and were sent again. */
  readonly retried: number;
  /** It did not end well. */
  readonly lost: string | null;
  /** Gaps, doublets, readers that saw different things, a stored message that is another one. */
  readonly faults: readonly string[];
  /** Calls that a lost worker left without an end: nobody knows whether they happened, and they were not made again. */
  readonly unknown: number;
}

/** Where turns are asked for, and as whom. */
export interface DeployClients {
  readonly balancer: Balancer;
  readonly apiKey: string;
  readonly agentId: string;
  /** How the model calls the counting tool. */
  readonly tool: string;
}

/** A reader of a turn that sees nothing new for so long gives it up. */
const patienceMs = 90_000;
/** Between two tries to reach a process. */
const retryMs = 200;
/** The second reader comes this long after the first. */
const lateMs = 1_500;

/** Asks for one turn and follows it to its end, with two readers. `mark` tells it from all others. */
export async function playTurn(clients: DeployClients, mark: string): Promise<DeployedTurn> {
  const askedAt = Date.now();
  const first = new Follower(clients);
  const call = (step: number) => `chunks=10 delayMs=100 tool=${clients.tool} args={"text":"${mark}/${step}"}`;
  const text = `[[sim: ${call(1)} ; ${call(2)} ; text="all of ${mark} is done" chunks=10]]`;
  const message = { id: mark, role: "user", parts: [{ type: "text", text }] };
  const located = Promise.withResolvers<string | null>();
  const following = first.begin({ message }, mark, located.resolve);
  const path = await located.promise;
  const second = new Follower(clients);
  if (path !== null) {
    await sleep(lateMs);
    await second.join(path);
  }
  await following;
  const endedAt = Date.now();
  const lost = first.fault ?? (first.tooLate ? null : endOf(first.chunks, mark));
  const faults = path === null ? [] : [...first.gaps(), ...second.gaps(), ...differences(first, second)];
  if (first.tooLate) faults.push("its reader joined again, and was told that nothing runs");
  if (path !== null && lost === null && !first.tooLate)
    faults.push(...(await storedOtherwise(clients, path, first.chunks)));
  return {
    askedAt,
    endedAt,
    firstTextMs: first.firstTextMs ?? endedAt - askedAt,
    silenceMs: first.silenceMs,
    rejoined: first.rejoined + second.rejoined,
    restarted: first.restarted + second.restarted,
    retried: first.retried + second.retried,
    lost,
    faults: faults.map((fault) => `${mark}: ${fault}`),
    unknown: first.chunks.filter(({ type }) => type === "tool-output-error" || type === "tool-input-error").length,
  };
}

/** One reader of one turn. */
class Follower {
  readonly ids: string[] = [];
  readonly chunks: Chunk[] = [];
  rejoined = 0;
  restarted = 0;
  retried = 0;
  silenceMs = 0;
  firstTextMs: number | null = null;
  /** Why it saw no end. */
  fault: string | null = null;
  /** The turn had ended when it came, and left nothing to follow. */
  tooLate = false;
  readonly #clients: DeployClients;
  readonly #startedAt = Date.now();
  #path: string | null = null;

  constructor(clients: DeployClients) {
    this.#clients = clients;
  }

  /** Asks for the turn, as often as it takes to get a response, and follows it. `located` is told the session's path. */
  async begin(body: object, key: string, located: (path: string | null) => void): Promise<void> {
    await this.#follow(async () => {
      const path = this.#path ?? `/v1/agents/${this.#clients.agentId}/sessions`;
      const response =
        this.#path === null
          ? await this.#send("POST", path, { "idempotency-key": key }, body)
          : await this.#send("GET", `${path}/stream`, this.#lastEvent());
      if (this.#path === null && response.ok) {
        this.#path = response.headers.get("location");
        located(this.#path);
      }
      return response;
    });
    located(this.#path);
  }

  /** Follows the turn that runs in a session, from its first event. */
  async join(path: string): Promise<void> {
    this.#path = path;
    await this.#follow(() => this.#send("GET", `${path}/stream`, this.#lastEvent()));
  }

  /** What its own sequence has too little or too much. */
  gaps(): string[] {
    if (this.tooLate && this.ids.length === 0) return [];
    const logs = new Set(this.ids.map((id) => id.split(":")[0]));
    const numbers = this.ids.map((id) => Number(id.split(":")[1]));
    if (logs.size === 1 && numbers.every((number, index) => number === index)) return [];
    return [`events ${this.ids.join(" ")}`];
  }

  async #follow(open: () => Promise<Response>): Promise<void> {
    const endsAt = Date.now() + patienceMs;
    let seen = false;
    while (Date.now() < endsAt) {
      const response = await open().catch(() => null);
      if (response === null || response.status >= 500 || response.status === 429) {
        await response?.text().catch(() => "");
        this.retried += 1;
        await sleep(retryMs);
        continue;
      }
      if (response.status === 204) {
        this.tooLate = true;
        return;
      }
      if (!response.ok) {
        this.fault = `${response.status} ${await response.text().catch(() => "")}`;
        return;
      }
      if (seen) this.rejoined += 1;
      seen = true;
      if (await this.#read(response)) return;
    }
    this.fault = "no end in time";
  }

  /** Reads as far as the stream goes. Returns whether it ended. */
  async #read(response: Response): Promise<boolean> {
    const reader = new StreamReader(response);
    let known = 0;
    let lastAt = Date.now();
    for (let over = false; !over; ) {
      over = await Promise.race([reader.closed.then(() => true), sleep(20, false)]);
      if (reader.ids.length === known) continue;
      this.silenceMs = Math.max(this.silenceMs, Date.now() - lastAt);
      lastAt = Date.now();
      if (this.firstTextMs === null && reader.types.includes("text-delta"))
        this.firstTextMs = Date.now() - this.#startedAt;
      known = reader.ids.length;
    }
    if (this.ids.length > 0 && reader.ids[0]?.endsWith(":0")) {
      this.restarted += 1;
      this.ids.length = 0;
      this.chunks.length = 0;
    }
    this.ids.push(...reader.ids);
    this.chunks.push(...reader.chunks);
    return reader.finished;
  }

  #lastEvent(): Record<string, string> {
    const last = this.ids.at(-1);
    return last === undefined ? {} : { "last-event-id": last };
  }

  #send(method: string, path: string, headers: Record<string, string>, body?: object): Promise<Response> {
    // A connection of its own each time: one that was kept would lead to a process that is gone.
    const connection = { keepalive: false, timeout: false };
    return fetch(`${this.#clients.balancer.pick()}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#clients.apiKey}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...connection,
    } as RequestInit);
  }
}

/** Why a sequence is not that of a turn that went well; null where it is. */
function endOf(chunks: readonly Chunk[], mark: string): string | null {
  const last = chunks.at(-1);
  if (last?.type !== "finish") return `ends with ${JSON.stringify(last ?? null)}`;
  const said = chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
  return said.endsWith(`all of ${mark} is done`) ? null : `says ${JSON.stringify(said)}`;
}

function differences(first: Follower, second: Follower): string[] {
  if (second.fault !== null) return [`a late reader: ${second.fault}`];
  if (first.tooLate || second.tooLate) return [];
  if (isDeepStrictEqual(first.chunks, second.chunks)) return [];
  const at = first.chunks.findIndex((chunk, index) => !isDeepStrictEqual(chunk, second.chunks[index]));
  const shown = [first, second].map(({ chunks }) => JSON.stringify(chunks[at] ?? null));
  return [`event ${at} is ${shown[0]} to one reader and ${shown[1]} to another`];
}

/** Says so where the stored answer is not what its readers saw. */
async function storedOtherwise(
  { balancer, apiKey }: DeployClients,
  path: string,
  chunks: readonly Chunk[],
): Promise<string[]> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const page = await fetch(`${balancer.pick()}${path}/messages`, { headers }).then(
    (response) => response.json() as Promise<{ data: UIMessage[] }>,
    () => null,
  );
  if (page === null) return [];
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk as unknown as UIMessageChunk);
      controller.close();
    },
  });
  let seen: UIMessage | null = null;
  for await (const message of readUIMessageStream<UIMessage>({ stream })) seen = message;
  const stored = page.data.at(-1);
  if (isDeepStrictEqual(stored, JSON.parse(JSON.stringify(seen)))) return [];
  return [`${JSON.stringify(seen)} was seen, and ${JSON.stringify(stored)} is stored`];
}
