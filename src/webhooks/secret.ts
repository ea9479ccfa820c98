import { createHmac, randomBytes } from "node:crypto";
import type { Sealer } from "../kernel/seal.ts";

/** How Standard Webhooks marks a secret that is shared with the receiver. */
const secretPrefix = "whsec_";
/** Standard Webhooks takes 24 to 64. */
const secretBytes = 32;
/** The scheme of a signature: HMAC-SHA256. */
const signatureVersion = "v1";

/** Returns a new secret. */
export function newWebhookSecret(): string {
  return `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`;
}

/** Returns what the secret before the last rotation is sealed for; the present one is sealed for the webhook's id. */
export function previousSecretSealedFor(webhookId: string): string {
  return `${webhookId}:previous`;
}

/** The secrets of a webhook as the database holds them. */
export interface SealedSecrets {
  readonly id: string;
  readonly sealedSecret: Uint8Array;
  /** Null: none, or its time is over. */
  readonly sealedPreviousSecret: Uint8Array | null;
}

/** Returns the secrets that a webhook's requests are signed with. Throws `SealError`. */
export function openSecrets(sealer: Sealer, { id, sealedSecret, sealedPreviousSecret }: SealedSecrets): string[] {
  const secret = sealer.open(sealedSecret, id);
  if (sealedPreviousSecret === null) return [secret];
  return [secret, sealer.open(sealedPreviousSecret, previousSecretSealedFor(id))];
}

/** Returns the value of the header `webhook-signature`: one signature a secret, by Standard Webhooks. `timestamp` is in seconds. */
export function signatureOf(
  secrets: readonly string[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
      return `${signatureVersion},${createHmac("sha256", key).update(signed).digest("base64")}`;
    })
    .join(" ");
}
