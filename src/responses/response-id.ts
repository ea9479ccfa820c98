import type { IdOf } from "../kernel/ids.ts";

/**
 * A response is a turn up to its end or to where it stops to ask, and what follows a stop is the
 * next one. So its id is that of the turn log which it shows, with another prefix, and an item's
 * id is that of its response with its place.
 */

/** Returns the id of the response that a turn log shows, by the id of its turn or continuation. */
export function responseIdOf(logId: IdOf<"turn"> | IdOf<"continuation">): IdOf<"response"> {
  return `resp_${bodyOf(logId)}`;
}

/** Returns the two logs that a response's id may mean. */
export function logsOf(id: IdOf<"response">): {
  readonly turnId: IdOf<"turn">;
  readonly continuationId: IdOf<"continuation">;
} {
  const body = bodyOf(id);
  return { turnId: `turn_${body}`, continuationId: `cont_${body}` };
}

/** What an item's id begins with. An approval's item has the approval's own id. */
export type ItemPrefix = "msg" | "rs" | "fc" | "mcp";

/** Returns the id of an item by its place in its response. */
export function itemIdOf(prefix: ItemPrefix, id: IdOf<"response">, place: number): string {
  return `${prefix}_${bodyOf(id)}_${place}`;
}

/** Returns the response that an item's id names; null when it is not one of ours. */
export function responseOfItem(itemId: string): IdOf<"response"> | null {
  const body = /^(?:msg|rs|fc|mcp)_([0-9a-z]{24})_\d{1,9}$/.exec(itemId)?.[1];
  return body === undefined ? null : `resp_${body}`;
}

function bodyOf(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}
