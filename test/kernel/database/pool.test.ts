import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { openDatabase, type Sql } from "../../../src/kernel/database/client.ts";
import { tx } from "../../../src/kernel/database/transaction.ts";
import { workFor } from "../../../src/kernel/telemetry/work.ts";
import { eventually } from "../../harness/eventually.ts";
import { cloneDatabase, dropDatabase } from "../../harness/harness.ts";

const connectionsMax = 4;

let url: string;
let sql: Sql;
let holder: postgres.Sql;

beforeAll(async () => {
  url = await cloneDatabase();
  sql = openDatabase({ url, max: connectionsMax, applicationName: "parley-test-pool" });
  holder = postgres(url, { max: 2, onnotice: () => {} });
  await holder`create table held (id int primary key, n int not null default 0)`;
  await holder`insert into held (id) values (1)`;
  // The driver sends nothing behind the statement for which a connection was opened.
  await Promise.all(Array.from({ length: connectionsMax }, () => sql`select pg_sleep(0.01)`));
});

afterAll(async () => {
  await sql.end({ timeout: 1 });
  await holder.end({ timeout: 1 });
  await dropDatabase(url);
});

/** Holds the row's lock while `work` runs with `count` statements of the pool waiting for it. */
async function whileWaiting(count: number, ask: () => Promise<unknown>, work: () => Promise<void>): Promise<void> {
  const released = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = holder.begin(async (inner) => {
    await inner`select 1 from held where id = 1 for update`;
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  const waiting = Array.from({ length: count }, ask);
  try {
    await eventually(async () => {
      const [row] = await holder<{ waiting: number }[]>`
        select count(*)::int as waiting from pg_stat_activity
        where application_name = 'parley-test-pool' and wait_event_type = 'Lock'`;
      return row?.waiting === count;
    });
    await work();
  } finally {
    released.resolve();
    await holding;
    await Promise.all(waiting);
  }
}

const update = async () => {
  await sql`update held set n = n + 1 where id = 1`;
};
const updateInTransaction = () => tx(sql, async (inner) => void (await inner`update held set n = n + 1 where id = 1`));

for (const [what, ask] of Object.entries({ statements: update, transactions: updateInTransaction })) {
  test(`while all connections but one wait for a lock in ${what}, that one serves everybody else, in order`, async () => {
    await whileWaiting(connectionsMax - 1, ask, async () => {
      const ended: number[] = [];
      const asked: Promise<unknown>[] = [];
      for (let n = 0; n < 40; n++) {
        const one = n % 4 === 0 ? tx(sql, (inner) => inner`select ${n}::int`) : sql`select ${n}::int`;
        asked.push(one.then(() => ended.push(n)));
        // A transaction is asked for some microtasks sooner than a statement.
        await Promise.resolve().then(() => {});
      }
      await Promise.all(asked);
      expect(ended).toEqual(Array.from({ length: 40 }, (_, n) => n));
    });
  });
}

test("transactions of a tenant that wait for one another leave half of the connections to others", async () => {
  const many = () =>
    workFor({ tenantId: "ten_a" }, "test", () => Promise.all(Array.from({ length: 5 }, updateInTransaction)));
  const held = connectionsMax / 2;
  await whileWaiting(held, many, async () => {
    const [row] = await workFor({ tenantId: "ten_b" }, "test", () => tx(sql, (inner) => inner`select 1 as one`));
    expect(row).toEqual({ one: 1 });
    // Nor do those that wait for a place hold a connection.
    expect((await sql`select 2 as two`)[0]).toEqual({ two: 2 });
  });
});

test("statements that are asked while all connections wait get the first that is free", async () => {
  const ended: string[] = [];
  const note = (what: string) => () => {
    ended.push(what);
  };
  let asked: Promise<unknown>[] = [];
  await whileWaiting(connectionsMax, update, async () => {
    asked = [sql`select 1`.then(note("first")), tx(sql, (inner) => inner`select 2`).then(note("second"))];
    expect((await holder`select 1`).length).toBe(1);
    expect(ended).toEqual([]);
  });
  await Promise.all(asked);
  expect(ended.toSorted()).toEqual(["first", "second"]);
});
