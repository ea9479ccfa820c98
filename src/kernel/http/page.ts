import type { TimePlace } from "../database/keyset.ts";
import { ApiError, invalid } from "../errors.ts";
import { cursorLengthMax } from "../limits.ts";

/** Sizes of a list's pages. */
export interface PageSize {
  readonly max: number;
  readonly default: number;
}

/** The page size of most lists. */
export const commonPage: PageSize = { max: 200, default: 50 };

/** A page of a list. */
export interface Page<T> {
  readonly data: T[];
  readonly nextCursor: string | null;
}

/** Returns the page size that the `limit` query field names. Throws 400 naming it. */
export function readLimit(limit: string | undefined, size: PageSize = commonPage): number {
  if (limit === undefined) return size.default;
  const number = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (number < 1 || number > size.max) throw invalid("limit", `must be a whole number from 1 to ${size.max}`);
  return number;
}

/** A cursor's plain values: the sort key of the last row of a page. */
export type CursorKey = readonly (string | number)[];

/** Returns an opaque cursor. `list` names the list (and its filters), so that a cursor of another list is refused. */
export function writeCursor(list: string, key: CursorKey): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString("base64url");
}

/** Returns the values of a cursor that `writeCursor` made for the same list. Throws 400 `invalid_cursor`. */
export function readCursor(list: string, cursor: string, length: number): (string | number)[] {
  const key = parse(cursor);
  if (!Array.isArray(key) || key.length !== length + 1 || key[0] !== list) throw new ApiError("invalid_cursor");
  const values = key.slice(1);
  const plain = values.every((value) =>
    typeof value === "number" ? Number.isSafeInteger(value) : typeof value === "string" && !value.includes("\0"),
  );
  if (!plain) throw new ApiError("invalid_cursor");
  return values as (string | number)[];
}

function parse(cursor: string): unknown {
  if (cursor.length > cursorLengthMax || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

/** Returns the place that a cursor of a list sorted by time and id names; null when there is no cursor. */
export function readTimeCursor(list: string, cursor: string | undefined): TimePlace | null {
  if (cursor === undefined) return null;
  const [at, id] = readCursor(list, cursor, 2);
  if (typeof at !== "string" || !/^\d{1,18}$/.test(at) || typeof id !== "string") throw new ApiError("invalid_cursor");
  return { at, id };
}

/** Returns a page from `limit + 1` rows: the extra row only shows that there are more. */
export function timePage<Row extends TimePlace, T>(
  list: string,
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? writeCursor(list, [last.at, last.id]) : null;
  return { data: shown.map(show), nextCursor };
}
