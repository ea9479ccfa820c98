import { TickShares } from "../async/tick-shares.ts";
import { bearerOf, clientTokenPrefix, keyPrefix } from "../auth/bearer.ts";
import type { ApiError, Form } from "../errors.ts";
import type { IdOf } from "../ids.ts";
import { digest } from "../seal.ts";
import { workHere } from "../telemetry/work.ts";
import { FairStart } from "./fair-start.ts";
import { Places } from "./places.ts";
import { tooMany } from "./too-many.ts";

/** Whose requests share a bound: a tenant's, the operators', a chat connection's webhooks, or those whose sender is not known (yet). */
type Sender = KnownSender["id"] | Stranger;
/** Senders that are not known, by what they send: a flood of one kind takes nothing from the others. */
type Stranger = "preflights" | "webhooks" | "sign-ins" | "keys" | "client tokens" | "JWTs" | "unknown";

/** How many requests and streams of a sender one process has open (docs/configuration.md, "Limits"). */
export interface SlotLimits {
  readonly requestsInFlightMax: number;
  readonly requestWaitMs: number;
  readonly requestsWaitingMax: number;
  readonly streamsOpenMax: number;
}

const usualLimits: SlotLimits = {
  requestsInFlightMax: 64,
  requestWaitMs: 1_000,
  requestsWaitingMax: 1_000,
  streamsOpenMax: 10_000,
};
/** Requests that begin at once: more than the pool has connections, so that these stay busy. */
const requestsBeginningMax = 32;
/** Reads of one sender that begin in one round of the event loop: some 2 ms of work, after which others go on. Writes are fewer, and turns are accepted in groups. */
const readsPerRound = 4;
/** A request that takes longer than this waits for something, and another one begins. */
const requestBeginningMs = 100;
/** Credentials whose tenant is remembered. It tells whose bound a request counts for, nothing else. */
const credentialsKnownMax = 10_000;
/** An id is shorter; of what is none, so much is remembered. */
const connectionLengthMax = 64;

/** What a request holds of the process. */
interface Held {
  sender: Sender;
  credential: string | null;
  /** Whether the request counts as in flight: not yet or not for now, yes, or not any more, because it has ended or was one too many. */
  place: "none" | "taken" | "over" | "refused";
  endStart: () => void;
  streamOf: IdOf<"tenant"> | null;
}

/** What a credential, or the address of a webhook, stood for the last time. */
interface KnownSender {
  readonly id: IdOf<"tenant"> | IdOf<"chatConnection"> | "operator";
  readonly form: Form;
}

const consolePath = /^[a-z]+:\/\/[^/]*\/console\/api\//;
const signInPath = /^[a-z]+:\/\/[^/]*\/console\/api\/login\/?(?:\?|$)/;
const webhookPath = /^[a-z]+:\/\/[^/]*\/v1\/chat\/webhooks\/[^/]+\/([^/?]+)/;

/**
 * Shares an HTTP process among its senders (docs/decisions/requests.md): each has a limit of
 * requests in flight and of open streams, and among those that begin, the one with the
 * fewest goes first.
 *
 * A request counts for the tenant that its credential stood for the last time, until it is
 * authenticated; one whose credential is new, missing or was refused counts with all others of
 * its kind, so a flood of invented credentials takes no more of the process than one tenant.
 * What no credential vouches for yet holds no place while its body comes (`pause`, and sign-ins from the
 * first on): who sends a byte now and then would keep others of its kind out.
 */
export class RequestSlots {
  readonly #limits: SlotLimits;
  readonly #places: Places<Sender>;
  readonly #start = new FairStart(requestsBeginningMax, requestBeginningMs);
  readonly #rounds = new TickShares(readsPerRound);
  readonly #streams = new Map<IdOf<"tenant">, number>();
  readonly #held = new WeakMap<Request, Held>();
  readonly #known = new Map<string, KnownSender>();

  constructor(limits: SlotLimits = usualLimits) {
    this.#limits = limits;
    this.#places = new Places({
      max: limits.requestsInFlightMax,
      waitMs: limits.requestWaitMs,
      waitingMax: limits.requestsWaitingMax,
    });
  }

  /** Returns the form that a request's tenant spoke the last time; null where the credential is not known. */
  formOf(request: Request): Form | null {
    const known = this.#known.get(credentialOf(request) ?? "");
    return known?.form ?? null;
  }

  /** Counts a request as in flight until `end`; a sign-in only from `resume` on. Throws 429 `rate_limited` when its sender has too many and none ends within a second. */
  async begin(request: Request): Promise<void> {
    const credential = credentialOf(request);
    const known = credential === null ? undefined : this.#known.get(credential);
    const sender = known?.id ?? strangerOf(request);
    // From the first on, so that the log names the tenant of a request that is refused here.
    const held: Held = { sender, credential, place: "none", endStart: () => {}, streamOf: null };
    this.#held.set(request, held);
    if (sender === "sign-ins") return;
    await this.#take(held);
    held.endStart = await this.#start.begin(sender);
    const round = request.method === "GET" ? this.#rounds.turn(sender, 1) : null;
    if (round !== null) await round;
  }

  /**
   * Counts a request for the tenant that its credential turned out to be of, or the chat connection that it is sent to. Throws
   * 429 as `begin`, at once where that was thrown before.
   */
  async identify(request: Request, sender: KnownSender): Promise<void> {
    const work = workHere();
    if (work !== null) work.tenantId = sender.id;
    const held = this.#held.get(request);
    if (held === undefined) return;
    if (held.place === "refused") throw tooManyInFlight(this.#limits.requestsInFlightMax);
    if (held.credential !== null) this.#remember(held.credential, sender);
    if (held.sender === sender.id || held.place === "over") return;
    const counted = held.place === "taken";
    this.#giveUp(held, "none");
    held.sender = sender.id;
    if (counted) await this.#take(held);
  }

  /** A request gives its place up until `resume`: it waits for what a stranger sends. */
  pause(request: Request): void {
    const held = this.#held.get(request);
    if (held === undefined) return;
    held.endStart();
    this.#giveUp(held, "none");
  }

  /** Counts a request that has no place as in flight. Throws 429 as `begin`. */
  async resume(request: Request): Promise<void> {
    const held = this.#held.get(request);
    if (held?.place === "none") await this.#take(held);
  }

  /** Lets a request that stands for another one hold what that one holds. */
  adopt(inner: Request, outer: Request): void {
    const held = this.#held.get(outer);
    if (held !== undefined) this.#held.set(inner, held);
  }

  /** Forgets whose credential a request has, because it was refused. */
  refuse(request: Request): void {
    const credential = this.#held.get(request)?.credential;
    if (credential != null) this.#known.delete(credential);
  }

  /** Counts a request as a stream of its tenant until `endStream`. Throws 429 `rate_limited` when there are too many. */
  openStream(request: Request, tenantId: IdOf<"tenant">): void {
    const held = this.#held.get(request);
    if (held === undefined || held.streamOf !== null) return;
    const open = this.#streams.get(tenantId) ?? 0;
    if (open >= this.#limits.streamsOpenMax)
      throw tooMany("The tenant has too many open streams.", this.#limits.streamsOpenMax);
    this.#streams.set(tenantId, open + 1);
    held.streamOf = tenantId;
  }

  /** Ends a request's being in flight: its response is ready, or it waits for something that is no work of this process. */
  leave(request: Request): void {
    const held = this.#held.get(request);
    if (held === undefined) return;
    held.endStart();
    this.#giveUp(held, "over");
  }

  /** Returns the tenant that a request counts for; null where it is not known. */
  tenantOf(request: Request): IdOf<"tenant"> | null {
    const sender = this.#held.get(request)?.sender;
    return sender?.startsWith("ten_") ? (sender as IdOf<"tenant">) : null;
  }

  /** Ends a request's stream. May be called more than once. */
  endStream(request: Request): void {
    const held = this.#held.get(request);
    const tenantId = held?.streamOf;
    if (held === undefined || tenantId == null) return;
    held.streamOf = null;
    const left = (this.#streams.get(tenantId) ?? 1) - 1;
    if (left === 0) this.#streams.delete(tenantId);
    else this.#streams.set(tenantId, left);
  }

  async #take(held: Held): Promise<void> {
    const taken = this.#places.take(held.sender);
    const isTaken = taken === true || (await taken);
    held.place = isTaken ? "taken" : "refused";
    if (!isTaken) throw tooManyInFlight(this.#limits.requestsInFlightMax);
  }

  #giveUp(held: Held, place: "none" | "over"): void {
    if (held.place === "refused") return;
    if (held.place === "taken") this.#places.give(held.sender);
    held.place = place;
  }

  #remember(credential: string, { id, form }: KnownSender): void {
    const known = this.#known.get(credential);
    if (known?.id === id && known.form === form) return;
    this.#known.delete(credential);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= credentialsKnownMax) this.#known.delete(oldest);
    this.#known.set(credential, { id, form });
  }
}

function tooManyInFlight(limit: number): ApiError {
  return tooMany("Too many requests are in flight.", limit);
}

/** Who sends what, where the sender is not known: a browser's preflight has no credential; a new client token finds room beside a flood of invented keys. */
function strangerOf({ method, url, headers }: Request): Stranger {
  if (method === "OPTIONS") return "preflights";
  if (webhookPath.test(url)) return "webhooks";
  if (method === "POST" && signInPath.test(url)) return "sign-ins";
  const token = bearerOf(headers.get("authorization"));
  if (token === null) return "unknown";
  if (token.startsWith(clientTokenPrefix)) return "client tokens";
  if (token.startsWith(keyPrefix)) return "keys";
  return jwtPattern.test(token) ? "JWTs" : "unknown";
}

const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Returns what a credential, or a webhook's address, is remembered by: of a credential never itself, and the same however it is spelt. */
function credentialOf(request: Request): string | null {
  const { headers, url, method } = request;
  const connection = webhookPath.exec(url)?.[1];
  if (connection !== undefined) return `webhook:${connection.slice(0, connectionLengthMax)}`;
  // Who signs in says who he is in the body.
  if (method === "POST" && signInPath.test(url)) return null;
  const authorization = headers.get("authorization");
  const secret = authorization === null && consolePath.test(url) ? headers.get("cookie") : bearerOf(authorization);
  return secret === null ? null : digest(secret).toString("base64");
}
