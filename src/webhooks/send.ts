import { clearTimeout, setTimeout } from "node:timers";
import type { Ctx } from "../kernel/context.ts";
import { RefusedAddressError, tenantFetch } from "../kernel/outbound/fetch.ts";
import { SealError } from "../kernel/seal.ts";
import { version } from "../kernel/version.ts";
import { type AttemptError, bodyOf, type WebhookDeliveryRow } from "./deliveries.ts";
import type { SentDelivery } from "./delivery-states.ts";
import { attemptTimeoutMs, receiptBodyMs, receiptBytesMax } from "./schema.ts";
import { openSecrets, signatureOf } from "./secret.ts";
import type { WebhookRow } from "./store.ts";

/** What sending needs. */
type SendCtx = Pick<Ctx, "config" | "sealer">;

/** Sends a delivery once, signed as Standard Webhooks has it. Returns what came of it; never throws. */
export async function sendDelivery(
  ctx: SendCtx,
  webhook: WebhookRow,
  delivery: WebhookDeliveryRow,
): Promise<SentDelivery> {
  const sentAt = new Date();
  const startedAtMs = performance.now();
  const { statusCode, error, retryAfterMs } = await post(ctx, webhook, delivery, sentAt).catch(failureOf);
  const ms = Math.round(performance.now() - startedAtMs);
  return { delivery, attempt: { at: sentAt.toISOString(), statusCode, ms, error }, retryAfterMs };
}

interface Outcome {
  readonly statusCode: number | null;
  readonly error: AttemptError | null;
  readonly retryAfterMs: number;
}

async function post(
  { config, sealer }: SendCtx,
  webhook: WebhookRow,
  delivery: WebhookDeliveryRow,
  sentAt: Date,
): Promise<Outcome> {
  const { id } = delivery;
  const body = bodyOf(delivery);
  const timestamp = Math.floor(sentAt.getTime() / 1000);
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": `Parley/${version}`,
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatureOf(openSecrets(sealer, webhook), { id, timestamp, body }),
  };
  const signal = AbortSignal.timeout(attemptTimeoutMs);
  const fetch = tenantFetch(config, webhook.tenantId);
  const response = await fetch(webhook.url, { method: "POST", headers, body, redirect: "manual", signal });
  await dropBody(response);
  const { status, ok } = response;
  const isRedirect = status >= 300 && status < 400;
  return {
    statusCode: status,
    error: ok ? null : isRedirect ? "redirect" : "status",
    retryAfterMs: ok ? 0 : readRetryAfter(response.headers.get("retry-after")),
  };
}

/** Reads a short body to its end, so that its connection can be used again, and breaks off a long or slow one. Never rejects. */
async function dropBody({ body }: Response): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), receiptBodyMs);
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
      if (bytes > receiptBytesMax) return void (await reader.cancel());
    }
  } catch {
    // The status has come, and only that counts.
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the pause that a `Retry-After` in seconds asks for; 0 for any other. */
function readRetryAfter(header: string | null): number {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : 0;
}

function failureOf(error: unknown): Outcome {
  return { statusCode: null, error: errorOf(error), retryAfterMs: 0 };
}

function errorOf(error: unknown): AttemptError {
  if (error instanceof SealError) return "secret_unavailable";
  if (error instanceof RefusedAddressError) return "address_refused";
  const isTimeout = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
  return isTimeout ? "timed_out" : "unreachable";
}
