import { Buffer } from "node:buffer";
import { type ForeignJson, readForeignJson } from "../../kernel/json-bounds.ts";

/** Reads JSON of a stranger as `readForeignJson` does; bytes that are no UTF-8, as of a server that writes Latin-1, cost the characters that they stand for. */
export async function readLenientJson(bytes: Buffer): Promise<ForeignJson> {
  const read = await readForeignJson(bytes);
  if (read.outcome !== "malformed") return read;
  const text = bytes.toString();
  // Without a character in place of others it is malformed for another reason.
  return text.includes("\ufffd") ? readForeignJson(Buffer.from(text)) : read;
}
