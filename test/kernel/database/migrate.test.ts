import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { listMigrations, migrate, missingMigrations } from "../../../src/kernel/database/migrate.ts";
import { schemaLockMs, withShortLocks } from "../../../src/kernel/database/short-locks.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { eventually } from "../../harness/eventually.ts";
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

  test("make nobody wait behind a long reader for longer than a short lock", async () => {
    await migrate(url, log);
    await using reader = await readerOf("workers");
    const changing = open({ lock_timeout: schemaLockMs });
    const changed = withShortLocks(() => changing`alter table workers add column later integer`);
    await eventually(async () => (await lockWaits()) > 0);
    // It ends although the reader goes on.
    await sql`insert into workers (id, application_name) values ('wk_1', 'parley-wk_1')`;
    await reader.end();
    await changed;
    expect(await sql`select later from workers`).toHaveLength(1);
    await changing.end();
  });

  test("make the queue's indexes while jobs are added, and again what was broken off", async () => {
    await migrate(url, log);
    await sql`drop index graphile_worker.parley_locked_jobs`;
    await sql`
      update pg_index set indisvalid = false where indexrelid = to_regclass('graphile_worker.parley_parked_jobs')`;
    await using reader = await readerOf("graphile_worker._private_jobs");
    const migrated = migrate(url, log);
    await eventually(async () => (await lockWaits()) > 0);
    await sql`select graphile_worker.add_job('keys.sweep', '{}')`;
    await reader.end();
    await migrated;
    const indexes = await sql<{ valid: boolean }[]>`
      select indisvalid as valid from pg_index where indexrelid in (
        to_regclass('graphile_worker.parley_locked_jobs'), to_regclass('graphile_worker.parley_parked_jobs'))`;
    expect(indexes.map(({ valid }) => valid)).toEqual([true, true]);
  });

  test("by several processes at once come one after the other", async () => {
    await Promise.all([migrate(url, log), migrate(url, log), migrate(url, log)]);
    expect(await applied()).toEqual(await listMigrations());
  });
});

function open(connection: Record<string, number>): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {}, connection });
}

/** Reads a table in a transaction that stays open. */
async function readerOf(table: string): Promise<{ end(): Promise<void> } & AsyncDisposable> {
  const connection = open({});
  await connection`begin`;
  await connection.unsafe(`select 1 from ${table} limit 1`);
  return {
    end: async () => void (await connection`commit`),
    [Symbol.asyncDispose]: () => connection.end(),
  };
}

const lockWaits = async () =>
  (await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`).length;
