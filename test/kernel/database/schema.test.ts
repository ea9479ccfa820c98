import { afterAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import postgres from "postgres";
import { listMigrations } from "../../../src/kernel/database/migrate.ts";
import { cloneDatabase, dropDatabase, emptyDatabase } from "../../harness/harness.ts";
import { readSchema, readSchemaFile, schemaFile } from "../../harness/schema-text.ts";

const databaseUrl = await cloneDatabase();
afterAll(() => dropDatabase(databaseUrl));

async function onDatabase<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

describe("sql/schema.sql", () => {
  test("is what the migrations make", async () => {
    const made = await onDatabase(databaseUrl, readSchema);
    expect(made, "Run `npm run schema` and commit sql/schema.sql.").toBe(await readSchemaFile());
  });

  test("makes the same schema in an empty database", async () => {
    const url = await emptyDatabase();
    const text = await readSchemaFile();
    const made = await onDatabase(url, async (sql) => {
      await sql.unsafe(text);
      return readSchema(sql);
    });
    expect(made).toBe(text);
    await dropDatabase(url);
  });

  test("is not written while something is there that its text cannot say", async () => {
    const refused = onDatabase(databaseUrl, async (sql) => {
      await sql`create view seen as select id from tenants`;
      return readSchema(sql).finally(() => sql`drop view seen`);
    });
    await expect(refused).rejects.toThrow("seen (relation of kind v)");
  });
});

describe("tokens", () => {
  test("no column that counts them can hold less than 0", async () => {
    const open = await onDatabase(
      databaseUrl,
      (sql) => sql<{ column: string }[]>`
        select c.table_name || '.' || c.column_name as column from information_schema.columns c
        where c.table_schema = 'public' and c.data_type = 'bigint' and c.column_name ~ 'tokens$'
          and not exists (select from pg_constraint k where k.conrelid = c.table_name::regclass
            and pg_get_constraintdef(k.oid) = 'CHECK ((' || c.column_name || ' >= 0))')`,
    );
    expect([...open]).toEqual([]);
  });
});

describe("migrations", () => {
  test("are numbered from 1 on, each number once, and named by topic", async () => {
    const names = await listMigrations();
    const numbers = names.map((name) => Number(name.slice(0, 3)));
    expect(numbers).toEqual(names.map((_, index) => index + 1));
    // A name of another shape would never be applied.
    const others = (await readdir(dirname(schemaFile))).filter((name) => !names.includes(name));
    expect(others.sort()).toEqual(["README.md", "schema.sql", "statements.sql"]);
  });
});
