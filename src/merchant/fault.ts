import { type SentFields, sentFields, sentItems } from "../kernel/outbound/sent-fields.ts";

/**
 * How a request to a billing provider failed:
 *
 * - `unauthorized`: the credential was refused (401, 403)
 * - `missing`: there is no such object (404)
 * - `refused`: the request was refused (any other 4xx)
 * - `unavailable`: the provider did not accept the request: a 5xx, a 429, or no connection
 * - `unknown`: the request may have arrived, but no response came back
 * - `garbled`: the status is a success, but the body cannot be read
 */
export type FaultKind = "unauthorized" | "missing" | "refused" | "unavailable" | "unknown" | "garbled";

/** The one error of this slice's requests to providers. Its reason is shown to tenants; it holds no secrets. */
export class BillingFault extends Error {
  override readonly name = "BillingFault";
  readonly kind: FaultKind;
  /** A short machine-readable reason: the vendor's own code where it gave one. */
  readonly reason: string;
  /** What the vendor wrote, to recognise a case that has no code of its own. Never shown. */
  readonly detail: string;
  /** How long the provider asks to wait; null when it does not say. */
  readonly retryAfterMs: number | null;

  constructor(kind: FaultKind, reason: string, more: { detail?: string; retryAfterMs?: number | null } = {}) {
    super(`The request to the billing provider failed: ${kind} (${reason}).`);
    this.kind = kind;
    this.reason = reason;
    this.detail = more.detail ?? "";
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}

/** Returns the fault in an error that a vendor's client threw, which may have wrapped it. */
export function faultOf(error: unknown): BillingFault {
  if (error instanceof BillingFault) return error;
  if (error instanceof Error && "detail" in error && error.detail instanceof BillingFault) return error.detail;
  return new BillingFault("unknown", "unexpected_answer", { detail: String(error) });
}

/** Returns what a vendor's client resolves with. Rejects with a `BillingFault`. */
export async function orFault<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw faultOf(error);
  }
}

/** Returns the fault that a response's status means, with the code that its body may name. */
export function faultOfStatus(status: number, headers: Headers, body: string): BillingFault {
  const { code, message } = readError(body);
  const more = { detail: message, retryAfterMs: retryAfterMs(headers) };
  if (status === 429) return new BillingFault("unavailable", "rate_limited", more);
  if (status >= 500) return new BillingFault("unavailable", `http_${status}`, more);
  if (status === 401 || status === 403) return new BillingFault("unauthorized", "credential_refused", more);
  if (status === 404) return new BillingFault("missing", code ?? "http_404", more);
  return new BillingFault("refused", code ?? `http_${status}`, more);
}

/** An error of a provider has at most so many characters. */
const errorCharactersMax = 64 * 1024;

/** Stripe's `{ error: { code, type, message } }` and Polar's `{ error, detail }`. */
function readError(body: string): { code: string | null; message: string } {
  try {
    // A real error is short; what is long is not parsed.
    const { error, detail } = JSON.parse(body.slice(0, errorCharactersMax)) as Record<string, unknown>;
    if (typeof error === "object" && error !== null) {
      const { code, type, message } = error as Record<string, unknown>;
      return { code: plainCode(code) ?? plainCode(type), message: typeof message === "string" ? message : "" };
    }
    return { code: plainCode(error), message: typeof detail === "string" ? detail : "" };
  } catch {
    return { code: null, message: "" };
  }
}

/** A vendor's code is shown to the tenant only if it has the form of a code: a few letters, no prose. */
function plainCode(code: unknown): string | null {
  return typeof code === "string" && /^[A-Za-z][A-Za-z0-9_.]{0,63}$/.test(code) ? code : null;
}

function retryAfterMs(headers: Headers): number | null {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return seconds >= 0 ? seconds * 1000 : null;
}

/** Returns the fields of a whole answer. Throws a `BillingFault` where it is no object. */
export function answered(answer: unknown): SentFields {
  const fields = sentFields(answer);
  if (fields === null) throw new BillingFault("garbled", "unexpected_answer");
  return fields;
}

/** Returns those items of an answer's list that can be read; null is an empty list. Throws a `BillingFault`, which names the field, where it is no list. */
export function listed(answer: unknown, field: string): SentFields[] {
  const list = answered(answer)[field] ?? [];
  if (!Array.isArray(list)) throw new BillingFault("garbled", `no_list_in_${field}`);
  return sentItems(list);
}
