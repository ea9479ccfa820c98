import { createHash } from "node:crypto";
import type { TimePlace } from "../database/keyset.ts";
import { ApiError } from "../errors.ts";
import { type CursorKey, readCursor, readLimit, readTimeCursor, writeCursor } from "./page.ts";

/** Rows of a list that is asked for neither `limit` nor `cursor`. */
const wholeListRowsMax = 1_000;

/** What a request asks of a list that has pages only for those who ask for them. */
export interface ListPartQuery {
  readonly limit?: string;
  readonly cursor?: string;
}

/** Where a page of such a list ends: left out of the whole list. */
export interface ListPartEnd {
  readonly nextCursor?: string | null;
}

/** How a list is sorted: what a cursor holds of its page's last row. */
export interface ListSort<Place> {
  /** Throws 400 `invalid_cursor`. */
  read(list: string, cursor: string): Place | null;
  key(row: Place): CursorKey;
}

/** Lists sorted by time and id. */
export const byTime: ListSort<TimePlace> = { read: readTimeCursor, key: ({ at, id }) => [at, id] };

/** Lists sorted by a name that no two rows share. */
export const byName: ListSort<{ readonly name: string }> = {
  read(list, cursor) {
    const [name] = readCursor(list, cursor, 1);
    if (typeof name !== "string") throw new ApiError("invalid_cursor");
    return { name };
  },
  key: ({ name }) => [name],
};

/**
 * Returns the rows that a request asks for: with `limit` or `cursor` a page, else the whole
 * list, of which `wholeListRowsMax` rows are returned at most, and then a cursor for the
 * rest. `list` names the list with its tenant and filters: a cursor of any other is refused.
 * `find` returns at most `rowsMax` rows from a place on. Throws 400 naming the field.
 */
export async function readListPart<Place, Row extends Place>(
  list: readonly (string | undefined)[],
  { limit, cursor }: ListPartQuery,
  sort: ListSort<Place>,
  find: (place: Place | null, rowsMax: number) => PromiseLike<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly end: ListPartEnd }> {
  const isWhole = limit === undefined && cursor === undefined;
  const rowsMax = isWhole ? wholeListRowsMax : readLimit(limit);
  // A filter may be longer than a cursor.
  const name = createHash("sha256").update(JSON.stringify(list)).digest("base64url");
  const place = cursor === undefined ? null : sort.read(name, cursor);
  // The extra row only shows that there are more.
  const found = await find(place, rowsMax + 1);
  const rows = found.slice(0, rowsMax);
  const last = rows.at(-1);
  if (found.length > rowsMax && last !== undefined)
    return { rows, end: { nextCursor: writeCursor(name, sort.key(last)) } };
  return { rows, end: isWhole ? {} : { nextCursor: null } };
}
