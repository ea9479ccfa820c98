import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A server that does not answer by now has not started, in milliseconds. */
const startMsMax = 10_000;

/** Whether a real Redis can be started on this machine. */
export const redisInstalled = spawnSync("redis-server", ["--version"]).status === 0;

/** A real `redis-server` of the test's own, empty and without persistence. */
export interface RedisServer {
  readonly url: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>;
  /** SIGSTOP and SIGCONT: the connections stay, nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Kills it and removes its folder. */
  stop(): Promise<void>;
}

/** Starts a `redis-server` on a free port. */
export async function startRedisServer(): Promise<RedisServer> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "parley-redis-"));
  let child = await launch(port, folder);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    restart: async () => {
      await kill();
      child = await launch(port, folder);
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function launch(port: number, folder: string): Promise<ChildProcess> {
  const options = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", options, { stdio: "ignore" });
  const deadline = Date.now() + startMsMax;
  while (!(await answers(port))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      child.kill("SIGKILL");
      throw new Error(`redis-server did not start on port ${port}.`);
    }
    await delay(10);
  }
  return child;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    const done = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("No port.")),
      );
    });
  });
}
