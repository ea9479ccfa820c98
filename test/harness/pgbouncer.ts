import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Certificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { eventually } from "./harness.ts";

export type PoolMode = "session" | "transaction" | "statement";

/** A real PgBouncer before a database. */
export interface PgBouncer {
  readonly url: string;
  /** `kill -9`, and a new one on the same port. */
  restart(): Promise<void>;
  /** Stops it where it is, until `thaw`: what it was sent waits. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

const program = ["pgbouncer", "/usr/sbin/pgbouncer"].find((name) => spawnSync(name, ["--version"]).status === 0);
/** Whether a real PgBouncer can be started on this machine. */
export const pgbouncerInstalled = program !== undefined;

/** Starts a PgBouncer with so many server connections. With a certificate it takes clients with TLS only. */
export async function startPgbouncer(
  databaseUrl: string,
  mode: PoolMode,
  servers: number,
  certificate?: Certificate,
): Promise<PgBouncer> {
  if (program === undefined) throw new Error("pgbouncer is not installed");
  const target = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), "parley-pgbouncer-"));
  await chmod(folder, 0o755);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  const login = `user=${target.username} password=${target.password}`;
  const settings = [
    "[databases]",
    `pooled = host=${target.hostname} port=${target.port} dbname=${target.pathname.slice(1)} ${login}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    `default_pool_size = ${servers}`,
    "max_client_conn = 2000",
    "server_login_retry = 1",
    ...(certificate === undefined ? [] : tlsOnly(certificate)),
  ];
  await writeFile(file, `${settings.join("\n")}\n`);
  const asRoot = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const start = async () => {
    const child = spawn(program, [...asRoot, file], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await eventually(() => accepts(port));
    const kill = async () => {
      child.kill("SIGKILL");
      await ended;
    };
    return { child, kill };
  };
  let running = await start();
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}/pooled`,
    restart: async () => {
      await running.kill();
      running = await start();
    },
    freeze: () => void running.child.kill("SIGSTOP"),
    thaw: () => void running.child.kill("SIGCONT"),
    stop: async () => {
      await running.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function tlsOnly({ certFile, keyFile }: Certificate): string[] {
  return ["client_tls_sslmode = require", `client_tls_cert_file = ${certFile}`, `client_tls_key_file = ${keyFile}`];
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    const done = (responded: boolean) => {
      socket.destroy();
      resolve(responded);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}
