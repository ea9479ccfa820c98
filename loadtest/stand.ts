import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { migrate } from "../src/kernel/database/migrate.ts";
import type { IdOf } from "../src/kernel/ids.ts";
import { createLogger } from "../src/kernel/telemetry/log.ts";
import { startRedis } from "../test/harness/redis.ts";
import { launchProgram, stopProgram } from "./launch.ts";
import { processStat, type StandProcess } from "./processes.ts";

/** Asks the service as the stand's tenant. Throws when the response is no success. */
// biome-ignore lint/suspicious/noExplicitAny: what comes back is read freely.
export type Call = (method: string, path: string, body?: object) => Promise<any>;

/** A tenant of the stand. */
export interface StandTenant {
  readonly apiKey: string;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly providerId: string;
  readonly call: Call;
}

/** A whole installation on this machine: Postgres, Redis, model, HTTP tier, workers, and the bare endpoint beside them. */
export interface Stand extends AsyncDisposable, StandTenant {
  readonly url: string;
  readonly bareUrl: string;
  readonly modelUrl: string;
  readonly databaseUrl: string;
  readonly processes: readonly StandProcess[];
  /** Makes one more tenant, with a provider on the simulated model and an agent on it. */
  addTenant(): Promise<StandTenant>;
  /** The settings of its service. */
  readonly env: Readonly<Record<string, string>>;
  /** Starts one more worker, with further settings of its own. */
  addWorker(name?: string, settings?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** Its first HTTP process. */
  readonly server: ServiceProcess;
  /** Starts one more HTTP process. */
  addServer(name?: string): Promise<ServiceProcess>;
  /** Ends every connection with Postgres, stops it, and starts it again at its address, some milliseconds later. */
  restartPostgres(awayMs?: number): Promise<void>;
}

/** A process of the service that a script may end itself. */
export interface ServiceProcess extends StandProcess {
  /** The address of an HTTP process; empty of a worker. */
  readonly url: string;
  /** Asks it to end, as a supervisor does. Resolves to its exit code once it has; null where a signal killed it. */
  end(): Promise<number | null>;
}

/** What a stand is to be like. */
export interface StandOptions {
  /** How many processes beside the HTTP process run turns. */
  readonly workers: number;
  /** One process does all, its own relay included, as `npm start` does: `workers` is not read. */
  readonly together?: boolean;
  /** Connections that Postgres accepts, where not the usual number. */
  readonly connections?: number;
  /** Further settings of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the stand. Postgres writes to disk as it does in production. */
export async function startStand(options: StandOptions): Promise<Stand> {
  const opened = new AsyncDisposableStack();
  try {
    const home = await mkdtemp(join(tmpdir(), "parley-load-"));
    opened.defer(() => rm(home, { recursive: true, force: true }));
    const connections = options.connections === undefined ? {} : { connections: options.connections };
    let database = await startEmbeddedPostgres({ home, log: () => {}, ...connections });
    opened.defer(() => database.stop());
    const redis = await startRedis();
    opened.defer(() => redis.stop());
    await migrate(database.url, createLogger("warn"));

    const processes: StandProcess[] = [{ name: "redis", pid: redis.process.pid ?? 0 }];
    const run = async (name: string, args: string[], env: Record<string, string>, ready: RegExp) => {
      const { child, match } = await launchService(args, env, ready);
      opened.defer(async () => void (await stopProgram(child, "SIGKILL")));
      const pid = child.pid ?? 0;
      processes.push({ name, pid });
      const end = () => stopProgram(child, "SIGTERM");
      return { match, service: { name, pid, url: match[1] ?? "", end } satisfies ServiceProcess };
    };
    const modelArgs = ["src/simulated-model/main.ts", "--port", "0", "--chunk-delay-ms", "0"];
    const [modelUrl = ""] = (await run("model", modelArgs, {}, /http:\S+/)).match;
    const [bareUrl = ""] = (await run("bare", ["loadtest/bare.ts", "--model", modelUrl], {}, /http:\S+/)).match;
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      ENCRYPTION_KEY: randomBytes(32).toString("base64"),
      ALLOW_PRIVATE_NETWORK: "1",
      LOG_LEVEL: "info",
      PORT: "0",
      ...options.env,
    };
    const addServer = async (name = "serve") =>
      (await run(name, ["src/main.ts", "serve"], env, /"url":"([^"]+)"/)).service;
    const addWorker = async (name = "work", settings: Readonly<Record<string, string>> = {}) =>
      (await run(name, ["src/main.ts", "work"], { ...env, ...settings }, /"working"/)).service;
    const startTogether = async () =>
      (
        await run(
          "start",
          ["src/main.ts", "start"],
          { ...env, REDIS_URL: "", PARLEY_HOME: join(home, "start") },
          /URL +(http:\S+)/,
        )
      ).service;
    const server = await (options.together === true ? startTogether() : addServer());
    const { url } = server;
    const workers = options.together === true ? 0 : options.workers;
    for (let n = 0; n < workers; n++) await addWorker();
    const addTenant = async () => {
      const tenant = await makeTenant(env);
      const call = caller(url, tenant.apiKey);
      return { ...tenant, call, ...(await seed(call, modelUrl)) };
    };
    const tenant = await addTenant();
    processes.push(await postmaster(database.url));
    return {
      url,
      bareUrl,
      modelUrl,
      databaseUrl: database.url,
      ...tenant,
      processes,
      addTenant,
      env,
      addWorker,
      server,
      addServer,
      restartPostgres: async (awayMs = 0) => {
        const port = Number(new URL(database.url).port);
        await database.stop();
        await sleep(awayMs);
        database = await startEmbeddedPostgres({ home, port, log: () => {}, ...connections });
      },
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

function launchService(args: string[], env: Record<string, string>, ready: RegExp) {
  return launchProgram({ program: process.execPath, args, cwd: join(import.meta.dirname, ".."), env, ready });
}

async function makeTenant(env: Record<string, string>): Promise<{ apiKey: string; tenantId: string }> {
  const args = ["src/main.ts", "tenant", "create", "--name", "load", "--json"];
  const { child, match } = await launchService(args, env, /\{.*"token".*\}/);
  await stopProgram(child, "SIGKILL");
  const { tenantId, token } = JSON.parse(match[0]) as { tenantId: string; token: string };
  return { apiKey: token, tenantId };
}

function caller(url: string, apiKey: string): Call {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { method, headers, ...sent });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
}

/** A provider on the simulated model, and an agent. */
async function seed(call: Call, modelUrl: string): Promise<{ agentId: IdOf<"agent">; providerId: string }> {
  const provider = await call("POST", "/v1/providers", {
    name: "simulated",
    providerType: "custom",
    baseUrl: modelUrl,
    apiKey: "sk-load",
  });
  const agent = await call("POST", "/v1/agents", { name: "load", model: "simulated/model", providerId: provider.id });
  return { agentId: agent.id, providerId: provider.id };
}

/** Postgres' main process; its children come and go with the connections, and are counted with it. */
async function postmaster(databaseUrl: string): Promise<StandProcess> {
  const sql = postgres(databaseUrl, { max: 1 });
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const { parent } = await processStat(row?.pid ?? 0);
  await sql.end();
  return { name: "postgres", pid: parent };
}
