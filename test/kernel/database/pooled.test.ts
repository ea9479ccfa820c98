import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase, type Sql } from "../../../src/kernel/database/client.ts";
import { limitStatement, statementTimeoutMs } from "../../../src/kernel/database/pooler-limits.ts";
import { ServerClock } from "../../../src/kernel/database/server-clock.ts";
import { isCommitUnsure, tx } from "../../../src/kernel/database/transaction.ts";
import { cloneDatabase, dropDatabase, eventually } from "../../harness/harness.ts";
import { type PgBouncer, pgbouncerInstalled, startPgbouncer } from "../../harness/pgbouncer.ts";

describe.skipIf(!pgbouncerInstalled)("a pool through a pooler in transaction mode", () => {
  let databaseUrl: string;
  let pooler: PgBouncer;
  let sql: Sql;
  let direct: Sql;
  beforeAll(async () => {
    databaseUrl = await cloneDatabase();
    pooler = await startPgbouncer(databaseUrl, "transaction", 2);
    sql = openDatabase({ url: pooler.url, max: 6, applicationName: "parley-test", isPooled: true });
    direct = openDatabase({ url: databaseUrl, max: 2, applicationName: "parley-test-direct" });
    await direct`create table written (name text)`;
    // Each connection has been used: the driver sends nothing behind a connection's first statement.
    await Promise.all(Array.from({ length: 6 }, () => sql`select pg_sleep(0.05)`));
  });
  afterAll(async () => {
    await sql.end({ timeout: 1 });
    await pooler.stop();
    await direct.end({ timeout: 1 });
    await dropDatabase(databaseUrl);
  });

  const names = async () => (await direct<{ name: string }[]>`select name from written`).map(({ name }) => name);

  test("statements with parameters change servers, more connections than it has, without a name", async () => {
    const rows = await Promise.all(
      Array.from(
        { length: 60 },
        (_, n) => sql<{ n: number; list: string[] }[]>`select ${n}::int as n, ${[`x${n}`]}::text[] as list`,
      ),
    );
    expect(rows.map(([row]) => row)).toEqual(Array.from({ length: 60 }, (_, n) => ({ n, list: [`x${n}`] })) as never);
    const prepared = sql`select name from pg_prepared_statements`;
    expect(await prepared).toHaveLength(0);
  });

  test("large rows and parameters pass whole", async () => {
    const text = "ä€😀".repeat(300_000);
    const [row] = await sql<
      { text: string; again: string }[]
    >`select ${text}::text as text, repeat('xyz', 500000) as again`;
    expect(row?.text === text && row.again === "xyz".repeat(500_000)).toBe(true);
  });

  test("limits of time are in force, in statements and in transactions, and stay in no session", async () => {
    const read = async (from: Pick<Sql, never> & ((strings: TemplateStringsArray) => PromiseLike<unknown>)) => {
      const [row] = (await from`
        select setting::int as ms, (select setting::int from pg_settings where name = 'idle_in_transaction_session_timeout') as idle
        from pg_settings where name = 'statement_timeout'`) as [{ ms: number; idle: number }];
      return row;
    };
    const alone = await read(sql as never);
    // What is left of it when the server sets it.
    expect(alone.ms).toBeGreaterThan(statementTimeoutMs / 10);
    expect(alone.ms).toBeLessThanOrEqual(statementTimeoutMs);
    expect(await tx(sql, (inner) => read(inner as never))).toEqual({ ms: statementTimeoutMs, idle: 10_000 });
    await expect(sql`select pg_sleep(30)`.then(() => "It ended.")).rejects.toMatchObject({ code: "57014" });
  }, 30_000);

  test("errors, also in the midst of a transaction, leave the connections usable", async () => {
    await expect(sql`select ${1}::int / 0`.then(() => {})).rejects.toMatchObject({ code: "22012" });
    await expect(sql`select ${1} from nowhere`.then(() => {})).rejects.toMatchObject({ code: "42P01" });
    const broken = tx(sql, async (inner) => {
      await inner`insert into written (name) values ('broken')`;
      await inner`select ${"x"}::int`;
    });
    await expect(broken).rejects.toMatchObject({ code: "22P02" });
    await expect(tx(sql, (inner) => inner`select ${1} from nowhere`)).rejects.toMatchObject({ code: "42P01" });
    await tx(sql, (inner) => inner`insert into written (name) values (${"whole"})`);
    expect(await names()).not.toContain("broken");
    expect(await names()).toContain("whole");
  });

  test("what the pooler kept until its caller had given up is never committed", async () => {
    const held = Promise.withResolvers<void>();
    const inserted = Promise.withResolvers<void>();
    const transaction = tx(sql, async (inner) => {
      await inner`insert into written (name) values ('late in a transaction')`;
      inserted.resolve();
      await held.promise;
    });
    await inserted.promise;
    pooler.freeze();
    held.resolve();
    const alone = sql`insert into written (name) values (${"late"})`.then(() => "committed");
    const outcomes = await Promise.allSettled([alone, transaction]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    pooler.thaw();
    await eventually(async () => (await tx(sql, (inner) => inner`select 1`)).length === 1);
    await eventually(async () => {
      const open = await direct`
        select 1 from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`;
      return open.length === 0;
    });
    expect((await names()).filter((name) => name.startsWith("late"))).toEqual([]);
  }, 60_000);

  test("a pooler that is killed and comes back is waited for, but for commits that were under way", async () => {
    const restarted = sleep(50).then(() => pooler.restart());
    const done = Array.from({ length: 60 }, async (_, n) => {
      await sleep(n * 4);
      return tx(sql, async (inner) => (await inner`select ${n}::int as n`)[0]?.n).catch((error) => {
        if (isCommitUnsure(error)) return n;
        throw error;
      });
    });
    expect(await Promise.all(done)).toEqual(Array.from({ length: 60 }, (_, n) => n));
    await restarted;
  }, 30_000);
});

test("a limit in the past fails by the server's clock, however far the clocks are apart", async () => {
  const databaseUrl = await cloneDatabase();
  const sql = openDatabase({ url: databaseUrl, max: 1, applicationName: "parley-test" });
  const now = performance.now();
  const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`;
  const clock = new ServerClock();
  clock.note(row?.ms ?? 0, now, performance.now());
  expect(await sql.unsafe(limitStatement(clock, performance.now() + 10_000))).toHaveLength(1);
  await expect(sql.unsafe(limitStatement(clock, performance.now() - 1)).then(() => {})).rejects.toMatchObject({
    code: "22023",
  });
  await sql.end();
  await dropDatabase(databaseUrl);
});

test("what is known of a server's clock is kept where it says more, and given up where the clock was set back", () => {
  const clock = new ServerClock();
  expect(clock.at(0)).toBeNull();
  clock.note(1_000_000, 100, 200);
  expect(clock.at(200)).toBe(1_000_000);
  clock.note(1_000_500, 300, 900);
  expect(clock.at(200)).toBe(1_000_000);
  clock.note(1_000_990, 1_000, 1_050);
  expect(clock.at(1_050)).toBe(1_000_990);
  clock.note(900_000, 1_100, 1_150);
  expect(clock.at(1_150)).toBe(900_000);
});
