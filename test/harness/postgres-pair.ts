import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { appendFileSync, chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { makeCertificate } from "./certificate.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";

const programs = "/usr/lib/postgresql/15/bin";
/** Whether this machine has the programs of a Postgres that replicates; the embedded one has no `pg_basebackup`. */
export const replicationInstalled = existsSync(join(programs, "pg_basebackup"));

/** One of two servers. */
export interface PairedServer {
  readonly port: number;
  readonly url: string;
  /** `kill -9` of the whole server. */
  kill(): Promise<void>;
  /** A standby gets nothing of its primary any more. */
  cutOff(): Promise<void>;
  /** A standby becomes a primary. */
  promote(): Promise<void>;
}

/** A primary and a standby that follows it. */
export interface PostgresPair extends AsyncDisposable {
  readonly primary: PairedServer;
  readonly standby: PairedServer;
  /** Both, as `DATABASE_URL` names them. */
  readonly url: string;
}

interface PairOptions {
  /** Whether a commit waits for the standby. */
  readonly synchronous?: boolean;
  /** Settings of the standby alone. */
  readonly standbySettings?: readonly string[];
  /** The address of this machine that both are reached at; they listen on 127.0.0.1 too. */
  readonly address?: string;
}

/** The account that the servers run as: Postgres refuses to run as root. */
const account = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};

function idOf(flag: string): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}

/** Starts a primary and its standby, with an empty database `parley`. Both take TLS, by a certificate of nobody. */
export async function startPostgresPair({
  synchronous = false,
  standbySettings = [],
  address = "127.0.0.1",
}: PairOptions = {}): Promise<PostgresPair> {
  const folder = mkdtempSync(join(tmpdir(), "parley-pair-"));
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid);
  const run = (name: string, words: readonly string[]) =>
    execFileSync(join(programs, name), words, { ...account, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const [main, second] = [join(folder, "main"), join(folder, "second")];
  run("initdb", ["-D", main, "-U", "parley", "--auth=trust", "-E", "UTF8", "--no-sync"]);
  appendFileSync(join(main, "pg_hba.conf"), "host all all 0.0.0.0/0 trust\n");
  const [mainPort, secondPort] = [await freePort(), await freePort()];
  const { certFile, keyFile } = makeCertificate(folder);
  if (account.uid !== undefined) chownSync(keyFile, account.uid, account.gid);
  const withTls = ["ssl=on", `ssl_key_file=${keyFile}`, `ssl_cert_file=${certFile}`];
  const common = [
    ...withTls,
    `listen_addresses=127.0.0.1,${address}`,
    `unix_socket_directories=${folder}`,
    "max_connections=200",
  ];
  const started: ChildProcess[] = [];
  const launch = async (data: string, port: number, settings: readonly string[]): Promise<PairedServer> => {
    const words = [...common, ...settings].flatMap((setting) => ["-c", setting]);
    const child = spawn(join(programs, "postgres"), ["-D", data, "-p", String(port), ...words], {
      ...account,
      cwd: folder,
      stdio: "ignore",
      detached: true,
    });
    started.push(child);
    const url = `postgres://parley@127.0.0.1:${port}/postgres`;
    await eventually(() => responds(url), 60_000);
    return {
      port,
      url: `postgres://parley@${address}:${port}/parley`,
      kill: () => killGroup(child),
      cutOff: async () => {
        const own = postgres(url, { max: 1, onnotice: () => {} });
        await own.unsafe("alter system set primary_conninfo = ''");
        await own`select pg_reload_conf()`;
        await eventually(async () => (await own`select 1 from pg_stat_wal_receiver`).length === 0);
        await own.end();
      },
      promote: async () => void run("pg_ctl", ["promote", "-w", "-D", data]),
    };
  };
  const waits = synchronous ? ["synchronous_standby_names=*"] : [];
  const primary = await launch(main, mainPort, ["wal_level=replica", "hot_standby=on"]);
  run("pg_basebackup", ["-h", "127.0.0.1", "-p", String(mainPort), "-U", "parley", "-D", second, "-R", "-X", "stream"]);
  const standby = await launch(second, secondPort, standbySettings);
  const admin = postgres(`postgres://parley@127.0.0.1:${mainPort}/postgres`, { max: 1, onnotice: () => {} });
  await admin`create database parley`;
  for (const setting of waits) await admin.unsafe(`alter system set ${setting.replace("=*", " = '*'")}`);
  await admin`select pg_reload_conf()`;
  await admin.end();
  return {
    primary,
    standby,
    url: `postgres://parley@${address}:${secondPort},${address}:${mainPort}/parley`,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(started.map(killGroup));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function responds(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  // Its processes leave by themselves when the first one has died.
  child.kill("SIGKILL");
  await gone;
}
