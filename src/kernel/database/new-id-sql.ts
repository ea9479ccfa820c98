import type postgres from "postgres";
import { type IdKind, newIdStem, timeLength } from "../ids.ts";
import type { AnySql } from "./client.ts";

/**
 * Returns the SQL of a new id for each row of a query: the time as in `newId`, and the last 15
 * digits of a random UUID (60 bits), all of which are random.
 */
export function newIdSql(sql: AnySql, kind: IdKind) {
  return sql`${newIdStem(kind)}::text || right(replace(gen_random_uuid()::text, '-', ''), 15)`;
}

/**
 * Returns the SQL of the id that is derived from a text, the same each time, as `derivedId` makes it: with the time that belongs
 * to the text, so that it sorts by age, and the first 15 digits of the text's MD5. Both are expressions; null where the text is.
 */
export function derivedIdSql(sql: AnySql, kind: IdKind, text: postgres.Fragment, at: postgres.Fragment) {
  const [prefix] = newIdStem(kind).split("_");
  return sql`${`${prefix}_`}::text || (
    select string_agg(substr('0123456789abcdefghijklmnopqrstuvwxyz', (ms / (36 ^ place)::bigint % 36)::int + 1, 1), '' order by place desc)
    from (select floor(extract(epoch from ${at}) * 1000)::bigint as ms) moment, generate_series(0, ${timeLength - 1}::int) place) || left(md5(${text}), 15)`;
}
