/**
 * What an exchange with a billing provider came to, when it was no success.
 *
 * - `unauthorized`: the credential was refused (401, 403)
 * - `missing`: there is no such thing (404)
 * - `refused`: the request was refused (any other 4xx)
 * - `unavailable`: the provider did not take it: a 5xx, a 429, or no connection
 * - `unknown`: the request may have arrived, but no answer came back
 * - `garbled`: the provider answered with success, in words that cannot be read
 */
export type FaultKind = "unauthorized" | "missing" | "refused" | "unavailable" | "unknown" | "garbled";

/** The one error of this slice's exchanges. Its code is shown to tenants; it holds nothing secret. */
export class BillingFault extends Error {
  override readonly name = "BillingFault";
  readonly kind: FaultKind;
  /** A short machine-readable reason: the vendor's own code where it gave one. */
  readonly reason: string;
  /** What the vendor wrote, for recognising a case that has no code of its own. Never shown. */
  readonly detail: string;
  /** The provider asks to be left alone for so long. */
  readonly retryAfterMs: number | null;

  constructor(kind: FaultKind, reason: string, more: { detail?: string; retryAfterMs?: number | null } = {}) {
    super(`The billing provider's answer: ${kind} (${reason}).`);
    this.kind = kind;
    this.reason = reason;
    this.detail = more.detail ?? "";
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}

/** The fault in an error that a vendor's client threw, which may have wrapped it. */
export function faultOf(error: unknown): BillingFault {
  if (error instanceof BillingFault) return error;
  if (error instanceof Error && "detail" in error && error.detail instanceof BillingFault) return error.detail;
  return new BillingFault("unknown", "unexpected_answer", { detail: String(error) });
}

/** What a vendor's client answers. Rejects with a `BillingFault`. */
export async function rethrowFault<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw faultOf(error);
  }
}

/** The fault that an answer's status means, with the code its body may name. */
export function faultOfStatus(status: number, headers: Headers, body: string): BillingFault {
  const { code, message } = readError(body);
  const more = { detail: message, retryAfterMs: retryAfterMs(headers) };
  if (status === 429) return new BillingFault("unavailable", "rate_limited", more);
  if (status >= 500) return new BillingFault("unavailable", `http_${status}`, more);
  if (status === 401 || status === 403) return new BillingFault("unauthorized", "credential_refused", more);
  if (status === 404) return new BillingFault("missing", code ?? "http_404", more);
  return new BillingFault("refused", code ?? `http_${status}`, more);
}

/** Stripe's `{ error: { code, type, message } }` and Polar's `{ error, detail }`. */
function readError(body: string): { code: string | null; message: string } {
  try {
    const { error, detail } = JSON.parse(body) as Record<string, unknown>;
    if (typeof error === "object" && error !== null) {
      const { code, type, message } = error as Record<string, unknown>;
      return { code: plainCode(code) ?? plainCode(type), message: typeof message === "string" ? message : "" };
    }
    return { code: plainCode(error), message: typeof detail === "string" ? detail : "" };
  } catch {
    return { code: null, message: "" };
  }
}

/** A vendor's code is repeated to the tenant only if it is one: a few letters, no prose. */
function plainCode(code: unknown): string | null {
  return typeof code === "string" && /^[A-Za-z][A-Za-z0-9_.]{0,63}$/.test(code) ? code : null;
}

function retryAfterMs(headers: Headers): number | null {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return seconds >= 0 ? seconds * 1000 : null;
}
