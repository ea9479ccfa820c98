import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { listMigrations, migrate, missingMigrations } from "../../../src/kernel/database/migrate.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { dropDatabase, emptyDatabase } from "../../harness/harness.ts";

const log = createLogger("silent");
let url = "";
let sql: postgres.Sql;
beforeEach(async () => {
  url = await emptyDatabase();
  sql = postgres(url, { max: 1, onnotice: () => {} });
});
afterEach(async () => {
  await sql.end();
  await dropDatabase(url);
});

const applied = async () =>
  (await sql<{ name: string }[]>`select name from schema_migrations order by name`).map((row) => row.name);

describe("the migrations", () => {
  test("are applied once each", async () => {
    expect(await missingMigrations(url)).toEqual(await listMigrations());
    await migrate(url, log);
    await migrate(url, log);
    expect(await applied()).toEqual(await listMigrations());
    expect(await missingMigrations(url)).toEqual([]);
  });

  test("of a newer version do not disturb an older one", async () => {
    await migrate(url, log);
    await sql`insert into schema_migrations (name) values ('999_of_a_newer_version.sql')`;
    await migrate(url, log);
    expect(await missingMigrations(url)).toEqual([]);
  });

  test("of the old numbering are refused, and nothing is changed", async () => {
    await sql`create table schema_migrations (name text primary key, applied_at timestamptz not null default now())`;
    await sql`insert into schema_migrations (name) values ('0001_tenants.sql')`;
    await expect(migrate(url, log)).rejects.toThrow("(0001_tenants.sql), which was never released");
    await expect(missingMigrations(url)).rejects.toThrow("cannot be upgraded");
    expect(await applied()).toEqual(["0001_tenants.sql"]);
    const tables = await sql`select tablename from pg_tables where schemaname in ('public', 'graphile_worker')`;
    expect([...tables]).toEqual([{ tablename: "schema_migrations" }]);
  });
});
