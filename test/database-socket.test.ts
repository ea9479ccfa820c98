import { expect, test } from "bun:test";
import postgres from "postgres";
import { Connections } from "../src/database-socket.ts";
import { openDatabase } from "../src/db.ts";
import { eventually } from "./eventually.ts";
import { openLink } from "./faults/link.ts";
import { cloneDatabase, dropDatabase } from "./harness.ts";

/** Queries that a broken connection answers within this did not wait for a deadline. */
const promptMs = 5_000;

test("a query that is asked while its connection breaks ends at once, whenever that is", async () => {
  const url = new URL(await cloneDatabase());
  await using link = await openLink(Number(url.port));
  const dropping = new URL(url);
  dropping.port = String(link.port);
  const sql = openDatabase({ url: dropping.href, max: 10, applicationName: "parley-test" });
  const slow: number[] = [];
  for (let drop = 0; drop < 60; drop++) {
    await Promise.all(Array.from({ length: 6 }, () => sql`select pg_sleep(0.002)`.catch(() => {})));
    link.drop();
    for (let turn = 0; turn < drop % 6; turn++) await new Promise((resolve) => setImmediate(resolve));
    const askedAt = Date.now();
    const asked = [
      sql`select ${drop}::int`,
      sql`select ${"x".repeat(2_000)}::text`,
      sql.begin((tx) => tx`select ${drop}::int`),
    ];
    const settled = Promise.all(asked.map((query) => Promise.resolve(query).catch(() => {})));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, promptMs, "late");
    });
    if ((await Promise.race([settled, late])) === "late") slow.push(Date.now() - askedAt);
    clearTimeout(timer);
  }
  expect(slow).toEqual([]);
  await sql.end({ timeout: 1 });
  await dropDatabase(url.href);
}, 60_000);

test("of a pool's connections those are closed that receive nothing any more, and no other", async () => {
  const url = new URL(await cloneDatabase());
  await using link = await openLink(Number(url.port));
  const linked = new URL(url);
  linked.port = String(link.port);
  const connections = new Connections();
  const sql = postgres(linked.href, { max: 2, ...connections.driverOption });
  const pids = () => Promise.all([1, 2].map(() => sql`select pg_backend_pid() as pid, pg_sleep(0.05)`));
  const before = new Set((await pids()).map(([row]) => row?.pid));
  expect(before.size).toBe(2);
  // Both have just received something.
  connections.closeSilent(1_000);
  expect(new Set((await pids()).map(([row]) => row?.pid))).toEqual(before);
  link.lose();
  const lost = sql`select 1`.catch((error) => error.code);
  await eventually(async () => {
    connections.closeSilent(100);
    return (await Promise.race([lost, null])) !== null;
  });
  expect(await lost).toBe("CONNECTION_CLOSED");
  await eventually(async () => {
    const answered = await sql`select pg_backend_pid() as pid`.catch(() => []);
    return answered.length === 1 && !before.has(answered[0]?.pid);
  });
  await sql.end({ timeout: 1 });
  await dropDatabase(url.href);
}, 30_000);
