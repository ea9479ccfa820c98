import { randomBytes } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Returns a prefix and `length` random characters behind it. */
export function randomToken(prefix: string, length: number): string {
  let body = "";
  while (body.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 below 256: no character is likelier than another.
      if (byte < 248 && body.length < length) body += alphabet[byte % alphabet.length];
    }
  }
  return `${prefix}${body}`;
}
