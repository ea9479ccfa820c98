import { createHmac, randomBytes } from "node:crypto";
import { createSealer, digest } from "../kernel/seal.ts";

const secretBytes = 32;
const secretPattern = /^[A-Za-z0-9_-]{43}$/;
/** A credential is encrypted for one purpose only; the key tells whose it is. */
const lockContext = "console";

/** What a cookie or a link holds. What is stored can only be found and opened with it. */
export interface Secret {
  readonly text: string;
  /** What is stored in its place. */
  readonly digest: Buffer;
  /** What the page sends back with every unsafe request, as a proof that it could read a response. */
  readonly csrfToken: string;
  lock(credential: string): Buffer;
  unlock(locked: Uint8Array): string;
}

/** Returns a new secret. */
export function newSecret(): Secret {
  return secretOf(randomBytes(secretBytes).toString("base64url"));
}

/** Returns the secret that a text is; null for a text of another shape. */
export function readSecret(text: string): Secret | null {
  return secretPattern.test(text) ? secretOf(text) : null;
}

function secretOf(text: string): Secret {
  const derive = (purpose: string) => createHmac("sha256", text).update(purpose).digest();
  const sealer = createSealer({ current: derive("parley/console-credential"), previous: [] });
  return {
    text,
    digest: digest(text),
    csrfToken: derive("parley/console-csrf").toString("base64url"),
    lock: (credential) => sealer.seal(credential, lockContext),
    unlock: (locked) => sealer.open(locked, lockContext),
  };
}
