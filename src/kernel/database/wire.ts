import { Buffer } from "node:buffer";

/** A message's type and its length, which counts itself. */
export const headBytes = 5;

/** Returns a message of Postgres' protocol. */
export function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = parts.map((part) => (typeof part === "string" ? Buffer.from(`${part}\0`) : part));
  const head = Buffer.alloc(headBytes);
  head.write(type);
  head.writeUInt32BE(
    body.reduce((sum, { length }) => sum + length, headBytes - 1),
    1,
  );
  return Buffer.concat([head, ...body]);
}

/** Returns the text that begins at a place and ends with a zero byte, and the place behind it. */
export function zeroEnded(bytes: Buffer, from: number): { readonly text: string; readonly end: number } {
  const zero = bytes.indexOf(0, from);
  return { text: bytes.toString("utf8", from, zero), end: zero + 1 };
}

/** Returns a field of a message that tells an error: `C` is its code, `V` its severity. */
export function errorField(error: Buffer, field: string): string {
  for (let at = headBytes; at < error.length && error[at] !== 0; ) {
    const { text, end } = zeroEnded(error, at + 1);
    if (String.fromCharCode(error[at] as number) === field) return text;
    at = end;
  }
  return "";
}
