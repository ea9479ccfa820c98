import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { ApiError } from "./errors.ts";

const nonceBytes = 12;
const tagBytes = 16;
/** The first byte of the layout `version | key id | nonce | tag | ciphertext`, so that a later layout can be told apart. */
const sealVersion = 2;
const keyIdBytes = 8;
const nonceAt = 1 + keyIdBytes;
const tagAt = nonceAt + nonceBytes;
const bodyAt = tagAt + tagBytes;
const fragmentLength = 4;

/** Seals secrets with AES-256-GCM under the service's key, and opens what it or a previous key sealed. */
export interface Sealer {
  /** Encrypts a text; `context` (the row's id) is bound to it, so that a sealed value cannot be moved to another row. */
  seal(secret: string, context: string): Buffer;
  /** Decrypts what `seal` made. Throws `SealError` when no key of this process opens it, or the context or a bit differs. */
  open(sealed: Uint8Array, context: string): string;
  /** The first bytes of everything that is sealed under the current key. */
  readonly mark: Buffer;
  /** Returns a keyed digest of a text, for signed URLs. */
  sign(text: string): string;
  /** Returns whether a signature is that of the text, by the current key or a previous one. */
  isSigned(text: string, signature: string): boolean;
}

/** The keys of a process, 32 bytes each: the one that seals, and those that only open. */
export interface SealingKeys {
  readonly current: Buffer;
  readonly previous: readonly Buffer[];
}

/** A sealed value that this process cannot open: the caller gets a 503, because the same request succeeds once the process has the right key. */
export class SealError extends ApiError {
  /** What the value was sealed for. */
  readonly context: string;

  constructor(context: string, cause?: unknown) {
    super("service_unavailable", {
      message:
        "A stored secret cannot be opened right now. The operator has to give the service the key that it was sealed with.",
    });
    this.context = context;
    this.cause = cause;
  }
}

/** Returns the sealer; `onFailure` is told what a value was sealed for that does not open. */
export function createSealer(
  { current, previous }: SealingKeys,
  onFailure: (context: string) => void = () => {},
): Sealer {
  const [own, ...older] = [current, ...previous].map(readyKey) as [ReadyKey, ...ReadyKey[]];
  const keys = [own, ...older];
  return {
    mark: own.mark,
    seal(secret, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", own.key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return Buffer.concat([own.mark, nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed);
      const fitting = keys.find(({ mark }) => mark.equals(bytes.subarray(0, nonceAt)));
      try {
        if (fitting === undefined) throw new Error("No key of this process has sealed this value.");
        return decrypt(fitting.key, bytes, context);
      } catch (error) {
        onFailure(context);
        throw new SealError(context, error);
      }
    },
    sign: (text) => own.sign(text),
    isSigned: (text, signature) => keys.some(({ sign }) => sameText(signature, sign(text))),
  };
}

interface ReadyKey {
  readonly key: Buffer;
  /** Layout and key id. */
  readonly mark: Buffer;
  sign(text: string): string;
}

function readyKey(key: Buffer): ReadyKey {
  const derive = (purpose: string) => createHmac("sha256", key).update(purpose).digest();
  const signingKey = derive("parley/sign");
  return {
    key,
    mark: Buffer.concat([Buffer.from([sealVersion]), derive("parley/key-id").subarray(0, keyIdBytes)]),
    sign: (text) => createHmac("sha256", signingKey).update(text).digest("base64url"),
  };
}

function decrypt(key: Buffer, bytes: Buffer, context: string): string {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(nonceAt, tagAt))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(tagAt, bodyAt));
  return Buffer.concat([decipher.update(bytes.subarray(bodyAt)), decipher.final()]).toString("utf8");
}

/** Returns the SHA-256 of a credential, which is stored in its place. */
export function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Returns the last characters of a secret, for display; none when it is too short to show any. */
export function fragment(secret: string): string {
  return secret.length >= fragmentLength * 3 ? secret.slice(-fragmentLength) : "";
}

/** Returns whether two texts are the same, in constant time. */
export function sameText(left: string, right: string): boolean {
  return timingSafeEqual(digest(left), digest(right));
}
