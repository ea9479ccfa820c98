import type { Sql } from "../../src/kernel/database/client.ts";

/** All rows of a database, by table. */
export type Rows = Readonly<Record<string, readonly unknown[]>>;

/** Returns the rows of a database's own tables and of the queue's. */
export async function readRows(sql: Sql): Promise<Rows> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'graphile_worker') and c.relkind in ('r', 'p') and not c.relispartition order by 1`;
  const rows: Record<string, readonly unknown[]> = {};
  for (const { name } of tables) {
    const found = await sql.unsafe(`select to_jsonb(t) as row from ${name} t order by to_jsonb(t)::text`);
    if (found.length > 0) rows[name] = found.map(({ row }) => row);
  }
  return rows;
}

/** Writes such rows into the empty tables of the same schema. */
export async function writeRows(sql: Sql, rows: Rows): Promise<void> {
  await sql.begin(async (tx) => {
    // No order of tables and no trigger matters: the rows were whole where they were read.
    await tx`set local session_replication_role = replica`;
    for (const [name, some] of Object.entries(rows)) {
      await tx.unsafe(`delete from ${name}`);
      const columns = await tx<{ column: string }[]>`
        select quote_ident(attname) as column from pg_attribute
        where attrelid = ${name}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`;
      const list = columns.map(({ column }) => column).join(", ");
      await tx.unsafe(
        `insert into ${name} (${list}) overriding system value select ${list} from jsonb_populate_recordset(null::${name}, $1::text::jsonb)`,
        [JSON.stringify(some)],
      );
    }
  });
}
