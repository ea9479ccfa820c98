import { Redis } from "ioredis";
import type { Sql } from "../../src/kernel/database/client.ts";

/**
 * Returns the tables of a database whose rows hold a text, in any column, as it is or in
 * bytes: `schema.table`. What is sealed cannot be searched.
 */
export async function tablesWith(sql: Sql, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1`;
  const bytes = Buffer.from(text).toString("hex");
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql`
        select 1 from ${sql.unsafe(name)} r
        where strpos(to_jsonb(r)::text, ${text}) > 0 or strpos(to_jsonb(r)::text, ${bytes}) > 0 limit 1`;
      return row === undefined ? [] : [name];
    }),
  );
  return found.flat();
}

/** Returns the keys of a Redis whose values hold a text. The relay's keys are streams; any other kind is read as a string. */
export async function redisKeysWith(url: string, text: string): Promise<string[]> {
  const redis = new Redis(url);
  try {
    const found: string[] = [];
    for (const key of await redis.keys("*")) {
      const isStream = (await redis.type(key)) === "stream";
      const value = isStream ? JSON.stringify(await redis.xrange(key, "-", "+")) : await redis.get(key).catch(() => "");
      if (value?.includes(text)) found.push(key);
    }
    return found;
  } finally {
    redis.disconnect();
  }
}
