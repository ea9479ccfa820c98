import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";

/** A real HAProxy before HTTP processes, which asks each of them at `/readyz`. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Waits until it has so many servers that it sends requests to. */
  hasUp(servers: number): Promise<void>;
}

const program = ["haproxy", "/usr/sbin/haproxy"].find((name) => spawnSync(name, ["-v"]).status === 0);
/** Whether a real HAProxy can be started on this machine. */
export const haproxyInstalled = program !== undefined;

/** Starts a balancer before these addresses (`host:port`). */
export async function startBalancer(servers: readonly string[]): Promise<Balancer> {
  if (program === undefined) throw new Error("haproxy is not installed");
  const folder = await mkdtemp(join(tmpdir(), "parley-haproxy-"));
  const [port, statsPort] = [await freePort(), await freePort()];
  const file = join(folder, "haproxy.cfg");
  const lines = [
    "defaults",
    "  mode http",
    "  timeout connect 1s",
    "  timeout client 60s",
    "  timeout server 60s",
    // Left out it is `inter`: a process that waits for so long for its turn on a busy machine would count as gone.
    "  timeout check 10s",
    "  option http-keep-alive",
    "  retries 3",
    "  retry-on conn-failure",
    "  option redispatch 1",
    "frontend in",
    `  bind 127.0.0.1:${port}`,
    "  default_backend parley",
    "frontend stats",
    `  bind 127.0.0.1:${statsPort}`,
    "  stats enable",
    "  stats uri /stats",
    "backend parley",
    "  balance roundrobin",
    "  option httpchk GET /readyz",
    "  http-check expect status 200",
    "  default-server check inter 500ms fall 2 rise 1",
    ...servers.map((address, index) => `  server s${index + 1} ${address}`),
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const child: ChildProcess = spawn(program, ["-db", "-f", file], { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = `http://127.0.0.1:${port}`;
  await eventually(() =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url,
    hasUp: async (wanted) => {
      await eventually(async () => {
        const lines = (await (await fetch(`http://127.0.0.1:${statsPort}/stats;csv`)).text()).split("\n");
        return lines.filter((line) => /^parley,s\d+,.*,UP,/.test(line)).length >= wanted;
      }, 60_000);
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
