import { readBounded } from "../kernel/http/json-body.ts";
import { type Fetch, wasNeverSent } from "../kernel/outbound/fetch.ts";
import { BillingFault, faultOfStatus } from "./fault.ts";

/** An answer may weigh this much; a page of a hundred subscriptions stays far below. */
const answerBytesMax = 8 * 1024 * 1024;

/**
 * A fetch for the vendors' clients that tells what became of a request. Resolves
 * with a successful answer, read whole; rejects with a `BillingFault` for
 * everything else, so that "never sent" and "sent, but unanswered" stay apart
 * through whatever the client does with its errors. `limitMs` covers the request
 * up to the last byte of its answer.
 */
export function billingFetch(limitMs: number): Fetch {
  return async (input, init) => {
    const signal = AbortSignal.timeout(limitMs);
    const response = await send(input, { ...init, signal });
    const body = await readBounded(response.body, answerBytesMax).catch(() => null);
    const text = body === null ? "" : new TextDecoder().decode(body);
    if (!response.ok) throw faultOfStatus(response.status, response.headers, text);
    if (body === null || !isJson(text)) throw new BillingFault("garbled", "unexpected_answer");
    return new Response(text, { status: response.status, headers: plainHeaders(response.headers) });
  };
}

async function send(input: Parameters<Fetch>[0], init: RequestInit): Promise<Response> {
  try {
    // A connection of its own each time. One from a pool may have been closed by the other side
    // meanwhile, which cannot be told from one that was cut after the request had arrived; and when
    // it breaks, runtimes send the request once more without being asked.
    const headers = new Headers(init.headers);
    headers.set("connection", "close");
    return await fetch(input, { ...init, headers, redirect: "manual", keepalive: false });
  } catch (error) {
    if (wasNeverSent(error)) throw new BillingFault("unavailable", "provider_unreachable");
    if (error instanceof Error && error.name === "TimeoutError") throw new BillingFault("unknown", "timed_out");
    throw new BillingFault("unknown", "connection_lost");
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The body is decoded already. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete("content-encoding");
  plain.delete("content-length");
  return plain;
}
