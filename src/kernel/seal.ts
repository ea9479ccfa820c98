import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const nonceBytes = 12;
const tagBytes = 16;
/** The first byte of the layout `version | nonce | tag | ciphertext`, so that a later layout can be told apart. */
const sealVersion = 1;
const fragmentLength = 4;

/** Seals secrets with AES-256-GCM under the service's one key. */
export interface Sealer {
  /** Encrypts a text; `context` (the row's id) is bound to it, so that a sealed value cannot be moved to another row. */
  seal(secret: string, context: string): Buffer;
  /** Decrypts what `seal` made. Throws when the key, the context or a bit differs. */
  open(sealed: Uint8Array, context: string): string;
  /** Returns a keyed digest of a text, for signed URLs. */
  sign(text: string): string;
}

/** Returns the sealer. `key` is 32 bytes. */
export function createSealer(key: Buffer): Sealer {
  const signingKey = createHmac("sha256", key).update("parley/sign").digest();
  return {
    seal(secret, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from([sealVersion]), nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed);
      if (bytes[0] !== sealVersion) throw new Error("The sealed value has an unknown layout.");
      return decrypt(key, bytes, context);
    },
    sign: (text) => createHmac("sha256", signingKey).update(text).digest("base64url"),
  };
}

function decrypt(key: Buffer, bytes: Buffer, context: string): string {
  const tagAt = 1 + nonceBytes;
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(1, tagAt))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(tagAt, tagAt + tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(tagAt + tagBytes)), decipher.final()]).toString("utf8");
  } catch (cause) {
    throw new Error(
      "A stored credential does not open with this ENCRYPTION_KEY. Give every process the key that it was sealed with, or enter the credential anew.",
      { cause },
    );
  }
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
