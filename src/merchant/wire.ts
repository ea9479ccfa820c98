import { refuseInTransaction } from "../kernel/async/in-transaction.ts";
import { readBounded } from "../kernel/bounded-read.ts";
import { foreignJsonDepthMax, jsonExcess } from "../kernel/json-bounds.ts";
import { type Fetch, wasNeverSent } from "../kernel/outbound/fetch.ts";
import { BillingFault, faultOfStatus } from "./fault.ts";

/** A response has at most so many bytes; a page of a hundred subscriptions is far smaller. */
const responseBytesMax = 8 * 1024 * 1024;

/**
 * Returns a fetch for the vendors' clients that tells what became of a request. It
 * resolves with a successful response whose body was read; it rejects with a
 * `BillingFault` for everything else, so that "never sent" and "sent without a
 * response" remain distinct whatever the client does with its errors. `limitMs`
 * covers the request up to the last byte of its response.
 */
export function billingFetch(limitMs: number): Fetch {
  return async (input, init) => {
    refuseInTransaction("Another server");
    const signal = AbortSignal.timeout(limitMs);
    const response = await send(input, { ...init, signal });
    const body = await readBounded(response.body, responseBytesMax).catch(() => null);
    const text = body === null ? "" : new TextDecoder().decode(body);
    if (!response.ok) throw faultOfStatus(response.status, response.headers, text);
    if (body === null || !(await isJson(text))) throw new BillingFault("garbled", "unexpected_answer");
    return new Response(text, { status: response.status, headers: plainHeaders(response.headers) });
  };
}

async function send(input: Parameters<Fetch>[0], init: RequestInit): Promise<Response> {
  try {
    // Each request has a connection of its own. The other side may have closed one from a pool, which
    // looks the same as one that broke after the request had arrived; and when it breaks, runtimes
    // send the request a second time by themselves.
    const headers = new Headers(init.headers);
    headers.set("connection", "close");
    return await fetch(input, { ...init, headers, redirect: "manual", keepalive: false });
  } catch (error) {
    if (wasNeverSent(error)) throw new BillingFault("unavailable", "provider_unreachable");
    if (error instanceof Error && error.name === "TimeoutError") throw new BillingFault("unknown", "timed_out");
    throw new BillingFault("unknown", "connection_lost");
  }
}

async function isJson(text: string): Promise<boolean> {
  if ((await jsonExcess(text, { depthMax: foreignJsonDepthMax })) !== null) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The headers without those that no longer fit, because the body is decoded already. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete("content-encoding");
  plain.delete("content-length");
  return plain;
}
