import { expect, test } from "bun:test";
import postgres from "postgres";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { withDeadline } from "../../../src/kernel/database/deadline.ts";
import { Connections, plainlyEnding } from "../../../src/kernel/database/socket.ts";
import { openLink } from "../../faults/link.ts";
import { eventually } from "../../harness/eventually.ts";
import { cloneDatabase, dropDatabase } from "../../harness/harness.ts";
import { hearPostgres } from "../../harness/said-to-postgres.ts";

/** Queries that a broken connection rejects within this did not wait for a deadline. */
const promptMs = 5_000;

/** A database of its own, and its address behind a link. */
async function openLinked() {
  const url = new URL(await cloneDatabase());
  const link = await openLink(Number(url.port));
  const linked = new URL(url);
  linked.port = String(link.port);
  return { url, link, linked };
}

test("a query that is asked while its connection breaks ends at once, whenever that is", async () => {
  const { url, link, linked } = await openLinked();
  await using _closed = link;
  const sql = openDatabase({ url: linked.href, max: 10, applicationName: "parley-test" });
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

test("the start of a connection asks nothing whose failure nobody handles", async () => {
  const url = await cloneDatabase();
  await using heard = await hearPostgres(url);
  const sql = openDatabase({ url: heard.url, max: 1, applicationName: "parley-test" });
  const [row] = await sql<{ texts: string[]; numbers: number[] }[]>`
    select ${["a", "b"]}::text[] as texts, ${[1, 2]}::bigint[] as numbers`;
  expect(row).toEqual({ texts: ["a", "b"], numbers: [1, 2] });
  // The driver's own question has no caller, so its failure would end the process: it does not reach the server.
  expect(heard.said.filter((text) => text.includes("typarray"))).toEqual([]);
  expect(heard.said.at(0)).toContain("statement_timeout");
  await sql.end({ timeout: 1 });
  await dropDatabase(url);
}, 30_000);

test("of a pool's connections those are closed that receive nothing any more, and no other", async () => {
  const { url, link, linked } = await openLinked();
  await using _closed = link;
  const connections = new Connections();
  const sql = postgres(linked.href, { max: 2, ...connections.driverOption });
  const lost = await sql.reserve();
  const pidOf = async (some: typeof sql) => (await some`select pg_backend_pid() as pid`)[0]?.pid;
  const before = await pidOf(lost);
  link.lose();
  // Opened through the same link, after what was lost.
  const kept = await sql.reserve();
  const keptPid = await pidOf(kept);
  const asked = lost`select 1`.catch((error) => error.code);
  await eventually(async () => {
    expect(await pidOf(kept)).toBe(keptPid);
    connections.closeSilent(1_500);
    return (await Promise.race([asked, null])) !== null;
  });
  expect(await asked).toBe("CONNECTION_CLOSED");
  expect(await pidOf(kept)).toBe(keptPid);
  kept.release();
  expect(await pidOf(sql)).not.toBe(before);
  await sql.end({ timeout: 1 });
  await dropDatabase(url.href);
}, 30_000);

test("a pool whose connections got no response at their start is used again when they are", async () => {
  const { url, link, linked } = await openLinked();
  await using _closed = link;
  const sql = withDeadline(postgres(linked.href, { max: 1, connect_timeout: 60, ...plainlyEnding() }), 300);
  link.stall();
  await Promise.all([1, 2].map(() => expect(sql`select 1`.then(String)).rejects.toThrow()));
  link.heal();
  await eventually(() =>
    sql`select 1 as one`.then(
      ([row]) => row?.one === 1,
      () => false,
    ),
  );
  await sql.end({ timeout: 1 });
  await dropDatabase(url.href);
}, 30_000);
