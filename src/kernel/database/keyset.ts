import type { AnySql } from "./client.ts";

/** A place in a list sorted by time and id. `at` is microseconds since 1970 as text: a `Date` would lose the last three digits. */
export interface TimePlace {
  readonly at: string;
  readonly id: string;
}

/** Returns the SQL of a row's place in time, the column `at` that `TimePlace` needs. `time` names the sort column, such as `d.created_at`. */
export function placeInTime(sql: AnySql, time: string) {
  return sql`(extract(epoch from ${sql(time)}) * 1000000)::bigint::text as at`;
}

/**
 * Returns the SQL, beginning with `and`, that leaves only what comes after a place in a
 * list sorted by `time desc, id desc`; nothing for null, the list's beginning. Both
 * names are columns as the query calls them, such as `d.created_at` and `d.id`.
 */
export function olderThan(sql: AnySql, place: TimePlace | null, time: string, id: string) {
  if (place === null) return sql``;
  return sql`and (${sql(time)}, ${sql(id)}) < (${moment(sql, place)}, ${place.id})`;
}

/** As `olderThan`, for a list sorted by `time, id`, oldest first. */
export function newerThan(sql: AnySql, place: TimePlace | null, time: string, id: string) {
  if (place === null) return sql``;
  return sql`and (${sql(time)}, ${sql(id)}) > (${moment(sql, place)}, ${place.id})`;
}

function moment(sql: AnySql, { at }: TimePlace) {
  return sql`'epoch'::timestamptz + ${at}::bigint * interval '1 microsecond'`;
}
