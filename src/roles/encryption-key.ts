import { randomBytes } from "node:crypto";
import type { Config } from "../kernel/config.ts";
import { readEncryptionKey } from "../kernel/config.ts";
import { keep, readKept } from "./home.ts";
import { OperatorError } from "./operator-error.ts";

const fileName = "encryption-key";
const keyBytes = 32;

/** Returns the key that secrets are sealed with: `ENCRYPTION_KEY`, or the home's own, made once. Throws `OperatorError`. */
export async function findEncryptionKey({ encryptionKey, home }: Config): Promise<Buffer> {
  if (encryptionKey !== null) return encryptionKey;
  const kept = await readKept(home, fileName);
  if (kept !== null) {
    try {
      return readEncryptionKey(kept.trim());
    } catch {
      // A new key could not open what the old one sealed.
      throw new OperatorError(`${home}/${fileName} is damaged. Bring it back from a backup, or set ENCRYPTION_KEY.`);
    }
  }
  const made = randomBytes(keyBytes);
  await keep(home, fileName, `${made.toString("base64")}\n`);
  return made;
}
