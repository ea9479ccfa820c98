import { type App, createApp } from "../../src/app.ts";
import type { Ctx } from "../../src/kernel/context.ts";
import { startWorkerPool } from "../../workers/main.ts";
import { launchServe, launchWork, type ServiceProcess, stopProcess } from "./service-process.ts";

/** The service as tests see it: something that serves requests, and workers beside it. */
export interface Service {
  readonly app: App;
  /** Starts one more worker pool. */
  startWorkers(): Promise<Workers>;
  stop(): Promise<void>;
}

export interface Workers {
  /** Lets what runs finish for at most `limitMs`, and ends them. */
  drain(limitMs: number): Promise<void>;
}

/** Processes that a test stops end what they run at once; who wants to see a drain starts them otherwise. */
const drainSeconds = 5;
const neverMs = 2 ** 31 - 1;

/** The service as a part of this process. */
export function serviceInProcess(ctx: Ctx, databaseUrl: string): Service {
  const pools = new Set<Workers>();
  return {
    app: createApp(ctx),
    startWorkers: async () => {
      const pool = await startWorkerPool(ctx, { databaseUrl });
      pools.add(pool);
      return {
        drain: async (limitMs) => {
          if (pools.delete(pool)) await pool.drain(limitMs);
        },
      };
    },
    stop: async () => {
      await Promise.all([...pools].map((pool) => pool.drain(0)));
      pools.clear();
    },
  };
}

/** The service as processes of their own, on the runtime that this run is for. */
export async function serviceInProcesses(env: Record<string, string>): Promise<Service> {
  const running = new Set<ServiceProcess>();
  const shared = { LOG_LEVEL: "info", DRAIN_SECONDS: String(drainSeconds), ...env };
  const add = (process: ServiceProcess) => void running.add(process);
  const serve = await launchServe(shared, add);
  return {
    app: (request) => forward(request, serve.port),
    startWorkers: async () => {
      let started: ServiceProcess | null = null;
      await launchWork(shared, (process) => {
        started = process;
        add(process);
      });
      return {
        drain: async () => {
          if (started !== null && running.delete(started)) await stopProcess(started, drainSeconds);
        },
      };
    },
    // A test may leave a turn hanging, and ending it is not what this run is about.
    stop: async () => {
      await Promise.all([...running].map((process) => process.kill()));
      running.clear();
    },
  };
}

/** Sends a request on to the process that serves, as it is; the response comes back as it is. */
async function forward(request: Request, port: number): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = request.body === null ? null : await request.arrayBuffer();
  const options = { timeout: neverMs, decompress: false };
  return fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
    method: request.method,
    headers: request.headers,
    body,
    signal: request.signal,
    redirect: "manual",
    ...options,
  });
}
