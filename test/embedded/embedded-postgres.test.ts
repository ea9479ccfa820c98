/** The embedded Postgres: what it keeps, and what it survives. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { findBinaries } from "../../src/embedded/binaries.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { inRepository } from "../harness/repository.ts";

setDefaultTimeout(90_000);

/** How long a test waits for a condition, in milliseconds. */
const waitMsMax = 30_000;
const pollMs = 10;
const isRoot = process.getuid?.() === 0;

const root = await mkdtemp(join(tmpdir(), "parley-postgres-"));
await chmod(root, 0o755);
const outside: string[] = [];
const processes: ChildProcess[] = [];
const databases: EmbeddedPostgres[] = [];
afterAll(async () => {
  for (const child of processes) child.kill("SIGKILL");
  for (const database of databases) await database.stop();
  for (const folder of [root, ...outside]) await rm(folder, { recursive: true, force: true });
});

async function start(home: string, options: { port?: number; fast?: boolean } = {}): Promise<EmbeddedPostgres> {
  const database = await startEmbeddedPostgres({ home, fast: true, log: () => {}, ...options });
  databases.push(database);
  return database;
}

interface Service {
  readonly child: ChildProcess;
  readonly line: string;
  readonly lines: AsyncIterator<string>;
}

/** Starts a service in another process; the line is its database's URL or its error. */
async function startService(home: string, mode = "fast"): Promise<Service> {
  const program = inRepository("test/harness/embedded-postgres-service.ts");
  // A session of its own, so that a test can signal its process group as a terminal would.
  const child = spawn(process.execPath, [program, home, mode], { stdio: ["pipe", "pipe", "inherit"], detached: true });
  processes.push(child);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return { child, line: (await lines.next()).value ?? "", lines };
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await until(async () => child.exitCode !== null || child.signalCode !== null);
}

async function query<T>(url: string, run: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await run(sql);
  } finally {
    await sql.end();
  }
}

const remember = (url: string, word: string) =>
  query(url, async (sql) => {
    await sql`create table if not exists words (word text primary key)`;
    await sql`insert into words values (${word})`;
  });

const words = (url: string) =>
  query(url, async (sql) => (await sql`select word from words order by word`).map((row) => row.word as string));

const postmasterPid = (url: string) =>
  query(url, async (sql) => {
    const [row] = await sql`select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`;
    return row?.pid as number;
  });

const dataFolder = (url: string) =>
  query(url, async (sql) => (await sql`show data_directory`)[0]?.data_directory as string);

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const limit = Date.now() + waitMsMax; Date.now() < limit; await sleep(pollMs)) {
    if (await condition()) return;
  }
  throw new Error(`Not so within ${waitMsMax} ms.`);
}

/** Whether a server accepts connections at the URL's port. */
async function responses(url: string): Promise<boolean> {
  return query(url, (sql) => sql`select 1`).then(
    () => true,
    () => false,
  );
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => "no failure",
    (error: Error) => error.message,
  );

test("a stopped database is there again at the next start", async () => {
  const home = join(root, "kept");
  const first = await start(home);
  await remember(first.url, "one");
  await first.stop();
  await first.stop();
  expect(await responses(first.url)).toBe(false);

  const second = await start(home);
  expect(await words(second.url)).toEqual(["one"]);
  const [settings] = await query(
    second.url,
    (sql) => sql`
      select current_database() as name, current_setting('TimeZone') as zone, current_setting('max_connections') as connections,
        current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
        pg_encoding_to_char(encoding) as encoding, datcollate as collation
      from pg_database where datname = current_database()`,
  );
  expect({ ...settings }).toEqual({
    name: "parley",
    zone: "UTC",
    connections: "200",
    addresses: "127.0.0.1",
    sockets: "",
    encoding: "UTF8",
    collation: "C",
  });
  expect((await stat(join(home, "postgres.json"))).mode & 0o777).toBe(0o600);
  const wrong = new URL(second.url);
  wrong.password = "wrong";
  expect(await failure(query(wrong.href, (sql) => sql`select 1`))).toContain("password authentication failed");
  await second.stop();
});

test("a killed service takes its server along, and the next start has all that was committed", async () => {
  const home = join(root, "killed");
  const service = await startService(home, "durable");
  await remember(service.line, "one");
  await kill(service.child, "SIGKILL");
  await until(async () => !(await responses(service.line)));

  // Killed together with its server, which then leaves its pid file and no checkpoint.
  const again = await startService(home, "durable");
  await remember(again.line, "two");
  const pid = await postmasterPid(again.line);
  process.kill(pid, "SIGKILL");
  await kill(again.child, "SIGKILL");

  const third = await start(home, { fast: false });
  expect(await words(third.url)).toEqual(["one", "two"]);

  // The server alone.
  await remember(third.url, "three");
  process.kill(await postmasterPid(third.url), "SIGKILL");
  await third.stop();
  const fourth = await start(home, { fast: false });
  expect(await words(fourth.url)).toEqual(["one", "three", "two"]);
  await fourth.stop();
});

test("of two services on one home the second is refused and named the first", async () => {
  const home = join(root, "shared");
  const services = await Promise.all([startService(home), startService(home)]);
  const [holder, refused] = services[0].line.startsWith("postgres:") ? services : services.toReversed();
  expect(refused?.line).toContain(`Another instance is using ${home} (pid ${holder?.child.pid})`);
  expect(await failure(start(home))).toContain(`(pid ${holder?.child.pid})`);
  await remember(holder!.line, "one");
  await kill(holder!.child, "SIGKILL");
  const next = await start(home);
  expect(await words(next.url)).toEqual(["one"]);
  expect(await failure(start(home))).toContain(`(pid ${process.pid})`);
  expect((await startService(home)).line).toContain(`(pid ${process.pid})`);
  await next.stop();
});

test("Ctrl-C leaves the server to the service", async () => {
  const service = await startService(join(root, "interrupted"));
  process.kill(-service.child.pid!, "SIGINT");
  expect((await service.lines.next()).value).toBe("draining");
  expect(await responses(service.line)).toBe(true);
  await kill(service.child, "SIGTERM");
  await until(async () => !(await responses(service.line)));
});

test("a taken port is named", async () => {
  const home = join(root, "port");
  const taker = createServer();
  await new Promise<void>((resolve) => taker.listen(0, "127.0.0.1", resolve));
  const { port } = taker.address() as { port: number };
  expect(await failure(start(home, { port }))).toBe(
    `Port ${port} on 127.0.0.1 is taken: the embedded Postgres cannot listen there.`,
  );
  await new Promise((resolve) => taker.close(resolve));
  const database = await start(home, { port });
  expect(new URL(database.url).port).toBe(String(port));
  await database.stop();
});

test("a database that is gone is not replaced by an empty one", async () => {
  const home = join(root, "gone");
  const database = await start(home);
  const data = await dataFolder(database.url);
  await database.stop();
  await rm(data, { recursive: true });
  expect(await failure(start(home))).toContain(`is gone from ${data}`);
});

test("binaries without their links and executable bits are mended in a copy", async () => {
  const [packaged, folder] = [join(root, "package"), join(root, "copies")];
  const { postgres: original } = await findBinaries(folder, null);
  const native = dirname(dirname(original));
  await mkdir(packaged);
  await mkdir(folder);
  await cp(join(native, "..", "package.json"), join(packaged, "package.json"));
  await cp(native, join(packaged, "native"), {
    recursive: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  });
  await chmod(join(packaged, "native", "bin", "initdb"), 0o644);
  const { initdb } = await findBinaries(folder, null, packaged);
  expect(initdb.startsWith(`${folder}/binaries-`)).toBe(true);
  expect(await findBinaries(folder, null, packaged)).toHaveProperty("initdb", initdb);
});

test.skipIf(!isRoot)("root's fresh home keeps its database, though it is closed", async () => {
  const home = join(root, "closed");
  await mkdir(home, { mode: 0o700 });
  const database = await start(home);
  const data = await dataFolder(database.url);
  expect(data.startsWith(`${home}/`)).toBe(true);
  expect((await stat(data)).uid).not.toBe(0);
  expect((await stat(home)).mode & 0o777).toBe(0o711);
  await database.stop();
});

test.skipIf(!isRoot)("below a closed folder, root's database lies elsewhere and is found again", async () => {
  const closed = join(root, "private");
  await mkdir(closed, { mode: 0o700 });
  const home = join(closed, "home");
  const first = await start(home);
  const data = await dataFolder(first.url);
  outside.push(dirname(data));
  expect(data.startsWith(root)).toBe(false);
  expect(first.folder).toBe(dirname(data));
  expect(JSON.parse(await readFile(join(home, "postgres.json"), "utf8"))).toHaveProperty("folder", dirname(data));
  await remember(first.url, "one");
  await first.stop();
  const second = await start(home);
  expect(await words(second.url)).toEqual(["one"]);
  // A copy of the home names the same data: it is in use.
  await cp(home, join(root, "copied"), { recursive: true });
  expect(await failure(start(join(root, "copied")))).toContain(`Another instance is using ${dirname(data)}`);
  await second.stop();
});
