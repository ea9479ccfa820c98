import { Readable } from "node:stream";
import { within } from "../async/wait.ts";
import { databaseWaitMs } from "../limits.ts";
import { poolUseOf, type Sql } from "./client.ts";
import { DeadlineError } from "./deadline.ts";

/** The signature, the flags and the length of an extension, which no version of Postgres has. */
const headBytes = 19;
/** In place of a row's number of fields, and of a field's length. */
const noMore = -1;

/**
 * Returns the rows of a query as bytes, by `copy … to stdout (format binary)`: the driver asks for `bytea` as hexadecimal text, which
 * takes both sides several times as long. The text of the query cannot have parameters; `copiedText` puts one into it. The caller
 * bounds what comes back. Throws as any query, and `DeadlineError`.
 */
export async function copyOut(sql: Sql, query: string): Promise<(Buffer | null)[][]> {
  const text = `copy (${query}) to stdout (format binary)`;
  const copied = piecesOf(sql(Object.assign([text], { raw: [text] })) as unknown as CopyQuery);
  const pieces = await within(copied, databaseWaitMs, () => {
    poolUseOf(sql)?.closeSilent();
    throw new DeadlineError(`The database did not send all rows within ${databaseWaitMs} ms.`);
  });
  return rowsOf(pieces);
}

/** How the driver gives a query its stream. */
interface CopyQuery {
  resolve(stream: unknown): void;
  readable(): Promise<unknown>;
}

/**
 * Collects what a query copies. The driver (3.4.9) may report an error of the stream before the query's promise has given it to
 * anybody, and an error that nobody hears ends the process: it is heard from the moment the driver hands the stream over.
 */
function piecesOf(query: CopyQuery): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const given = query.resolve;
    query.resolve = (stream) => {
      if (stream instanceof Readable) {
        stream.on("data", (piece: Buffer) => pieces.push(piece));
        stream.once("error", reject);
        stream.once("close", () => reject(new Error("The copy broke off.")));
        stream.once("end", () => resolve(pieces));
      }
      given.call(query, stream);
    };
    query.readable().catch(reject);
  });
}

/** Returns a text as an expression of SQL that consists of nothing but hexadecimal digits, whatever the text has in it. */
export function copiedText(text: string): string {
  return `convert_from(decode('${Buffer.from(text).toString("hex")}', 'hex'), 'UTF8')`;
}

/** Postgres sends a row as one piece, and before the first one, or with it, the head. */
function rowsOf(pieces: readonly Buffer[]): (Buffer | null)[][] {
  const rows: (Buffer | null)[][] = [];
  let at = headBytes;
  for (const piece of pieces) {
    while (at < piece.byteLength) {
      let fields = piece.readInt16BE(at);
      if (fields === noMore) return rows;
      at += 2;
      const row: (Buffer | null)[] = [];
      for (; fields > 0; fields -= 1) {
        const bytes = piece.readInt32BE(at);
        at += 4;
        row.push(bytes === noMore ? null : piece.subarray(at, at + bytes));
        at += Math.max(0, bytes);
      }
      rows.push(row);
    }
    at -= piece.byteLength;
  }
  throw new Error("Postgres sent less than it said.");
}
