import { setTimeout as sleep } from "node:timers/promises";
import { newId } from "../../../src/kernel/ids.ts";
import { aftermathOf, type Client, type Installation, textOf } from "../../harness/processes.ts";
import { StreamReader } from "../../harness/stream-reader.ts";

/** How clients ask. */
interface TrafficOptions {
  readonly clients: number;
  /** A turn's answer, which the model gives a word at a time. */
  readonly words: number;
  readonly everyMs: number;
  /** Each turn has an Idempotency-Key, and is sent again under it until it is accepted. */
  readonly keyed?: boolean;
}

/** A turn as its client saw it. Moments are of `performance.now()`. */
export interface SeenTurn {
  readonly mark: string;
  readonly key: string;
  readonly text: string;
  readonly askedAt: number;
  /** Of each request for it. A connection that broke is 0. */
  readonly statuses: number[];
  /** The session that it was asked in; null where it made one. */
  readonly into: string | null;
  acceptedAt: number;
  turnId: string;
  sessionId: string;
  stream: StreamReader | null;
  /** When something came. */
  readonly cameAt: number[];
  endedAt: number;
}

/** How it ended for its client. */
export function endOf({ stream }: SeenTurn): "whole" | "error" | "broken" | "refused" {
  if (stream === null) return "refused";
  if (!stream.finished) return "broken";
  return stream.types.at(-1) === "finish" ? "whole" : "error";
}

/** The state of all clients at a moment. */
export interface Sample {
  readonly atMs: number;
  /** Streams that are open. */
  readonly open: number;
  /** Of these, on how many something came in the second before. */
  readonly live: number;
  /** Turns that ended whole in the second before. */
  readonly whole: number;
  /** Those that ended in another way, and requests that were refused. */
  readonly failed: number;
}

const lookEveryMs = 20;
const againMs = 250;
/** A client that is always refused gives up. */
const askingMsMax = 60_000;

let made = 0;

/** Clients that run one turn after another, each at one of several addresses. */
export class Traffic {
  readonly turns: SeenTurn[] = [];
  readonly startedAt = performance.now();
  /** Marks of one installation's turns are never the same. */
  readonly #name = `t${++made}`;
  readonly #options: TrafficOptions;
  readonly #loops: Promise<void>[];
  readonly #watch: NodeJS.Timeout;
  #stopped = false;

  constructor(clients: readonly Client[], options: TrafficOptions) {
    this.#options = options;
    this.#loops = Array.from({ length: options.clients }, (_, n) =>
      this.#loop(clients[n % clients.length] as Client, n),
    );
    this.#watch = setInterval(() => this.#look(), lookEveryMs);
  }

  /** Lets the last turns end, and returns all. */
  async stop(): Promise<readonly SeenTurn[]> {
    this.#stopped = true;
    await Promise.all(this.#loops);
    clearInterval(this.#watch);
    return this.turns;
  }

  get open(): readonly SeenTurn[] {
    return this.turns.filter(({ stream, endedAt }) => stream !== null && endedAt === 0);
  }

  /** What was to be seen each quarter of a second. */
  samples(): Sample[] {
    const last = Math.max(...this.turns.map(({ endedAt }) => endedAt));
    const samples: Sample[] = [];
    const within = (at: number, now: number) => at > now - 1000 && at <= now;
    for (let now = this.startedAt; now <= last + 250; now += 250)
      samples.push({
        atMs: now - this.startedAt,
        open: this.turns.filter(({ cameAt, endedAt }) => (cameAt[0] ?? Infinity) <= now && endedAt > now).length,
        live: this.turns.filter(({ cameAt, endedAt }) => endedAt > now && cameAt.some((at) => within(at, now))).length,
        whole: this.turns.filter((turn) => within(turn.endedAt, now) && endOf(turn) === "whole").length,
        failed: this.turns.filter((turn) => within(turn.endedAt, now) && endOf(turn) !== "whole").length,
      });
    return samples;
  }

  /** Clients of an odd number stay in one session, the others make one for each turn. */
  async #loop(client: Client, n: number): Promise<void> {
    await sleep((n * this.#options.words * this.#options.everyMs) / this.#options.clients);
    let sessionId: string | null = null;
    for (let turn = 0; !this.#stopped; turn++) {
      const seen = await this.#turn(client, `${this.#name}c${n}-${turn}`, sessionId);
      if (n % 2 === 1) sessionId = endOf(seen) === "whole" ? seen.sessionId : null;
    }
  }

  async #turn(client: Client, mark: string, sessionId: string | null): Promise<SeenTurn> {
    const seen = newTurn(mark, this.#options.words, sessionId);
    this.turns.push(seen);
    while (!(await ask(client, seen, this.#options))) {
      if (this.#options.keyed !== true || performance.now() - seen.askedAt > askingMsMax) {
        seen.endedAt = performance.now();
        // Whoever is refused does not come back at once.
        await sleep(againMs);
        return seen;
      }
      await sleep(againMs);
    }
    await seen.stream?.closed;
    seen.endedAt = performance.now();
    return seen;
  }

  #look(): void {
    const now = performance.now();
    for (const { stream, cameAt } of this.open) while (cameAt.length < (stream?.chunks.length ?? 0)) cameAt.push(now);
  }
}

function newTurn(mark: string, words: number, into: string | null): SeenTurn {
  const text = Array.from({ length: words }, (_, n) => `${mark}.${n}`).join(" ");
  const moment = performance.now();
  const nothing = { acceptedAt: 0, turnId: "", sessionId: "", stream: null, endedAt: 0 };
  return { mark, key: newId("request"), text, into, askedAt: moment, statuses: [], cameAt: [], ...nothing };
}

/** Asks for a turn. Returns whether it was accepted. */
export async function ask(client: Client, seen: SeenTurn, { words, everyMs, keyed }: TrafficOptions): Promise<boolean> {
  const path = `/v1/agents/${client.agentId}/sessions${seen.into === null ? "" : `/${seen.into}`}`;
  const text = `${seen.mark}: [[sim: text="${seen.text}" chunks=${words} delayMs=${everyMs}]]`;
  const body = { message: { id: `m-${seen.key}`, role: "user", parts: [{ type: "text", text }] } };
  const headers: Record<string, string> = keyed === true ? { "idempotency-key": seen.key } : {};
  const response = await client.request("POST", path, body, headers).catch(() => null);
  seen.statuses.push(response?.status ?? 0);
  if (response === null || !response.ok) {
    await response?.body?.cancel();
    return false;
  }
  seen.acceptedAt = performance.now();
  seen.turnId = response.headers.get("x-turn-id") ?? "";
  seen.sessionId = seen.into ?? response.headers.get("location")?.split("/").at(-1) ?? "";
  seen.stream = new StreamReader(response);
  return true;
}

/** What became of all turns. */
export interface Outcome {
  readonly turns: number;
  readonly whole: number;
  readonly errors: number;
  readonly broken: number;
  /** Requests that were not accepted. */
  readonly refused: number;
  /** The same by status; 0 is a connection that broke. */
  readonly refusals: Readonly<Record<string, number>>;
  /** The longest time in which a reader of an open stream saw nothing, in milliseconds. */
  readonly silenceMs: number;
  /** Turns for which the model was asked more than once. */
  readonly twice: readonly string[];
  /** What must not be: a turn that is not stored as its client saw it, a sequence with a gap. */
  readonly faults: readonly string[];
}

/** Compares what clients saw with what is stored. Turns of `lost` ids need not exist. */
export async function outcomeOf(
  { sql, model }: Pick<Installation, "sql" | "model">,
  seen: readonly SeenTurn[],
  lost: ReadonlySet<string> = new Set(),
): Promise<Outcome> {
  const ends = seen.map(endOf);
  const faults: string[] = [];
  for (const turn of seen) if (turn.stream !== null) faults.push(...(await faultsOf(sql, turn, lost)));
  const asked = Map.groupBy(model.requests().flatMap(questionOf), (mark) => mark);
  const twice = [...asked].filter(([, calls]) => calls.length > 1).map(([mark]) => mark);
  const refused = seen.flatMap(({ statuses }) => statuses.filter((status) => status < 200 || status > 299));
  return {
    turns: seen.length,
    whole: ends.filter((end) => end === "whole").length,
    errors: ends.filter((end) => end === "error").length,
    broken: ends.filter((end) => end === "broken").length,
    refused: refused.length,
    refusals: Object.fromEntries([...Map.groupBy(refused, String)].map(([status, all]) => [status, all.length])),
    silenceMs: Math.max(0, ...seen.map(silenceOf)),
    twice,
    faults,
  };
}

/** Which turn asks this of the model. */
function questionOf({ body }: { readonly body: unknown }): string[] {
  const { messages = [] } = body as { messages?: { role: string; content: unknown }[] };
  const last = JSON.stringify(messages.findLast(({ role }) => role === "user")?.content ?? "");
  return /\b(t\d+c\d+-\d+): /.exec(last)?.slice(1) ?? [];
}

async function faultsOf(sql: Installation["sql"], turn: SeenTurn, lost: ReadonlySet<string>): Promise<string[]> {
  const { mark, text, stream, turnId } = turn;
  if (stream === null) return [];
  const faults: string[] = [];
  const numbers = stream.ids.map((id) => Number(id.split(":")[1]));
  if (numbers.some((number, index) => number !== index)) faults.push(`${mark}: numbers ${numbers.join(" ")}`);
  const end = endOf(turn);
  if (end === "whole" && textOf(stream.chunks) !== text) faults.push(`${mark}: another text than the model's`);
  if (lost.has(turnId)) return faults;
  const after = await aftermathOf(sql, turnId).catch((error: Error) => error.message);
  const expected = end === "whole" ? ["succeeded", 1, 2] : ["failed", 1, 0];
  const stored = typeof after === "string" ? after : [after.status, after.metered, after.messages];
  if (JSON.stringify(stored) !== JSON.stringify(expected) && end !== "broken")
    faults.push(`${mark} (${turnId}) ended ${end}, and stored is ${JSON.stringify(stored)}`);
  return faults;
}

/** The longest pause of a stream, in milliseconds. */
export function silenceOf({ cameAt, endedAt }: SeenTurn): number {
  if (cameAt.length === 0) return 0;
  const moments = [...cameAt, endedAt];
  return Math.max(...moments.slice(1).map((at, index) => at - (moments[index] as number)));
}
