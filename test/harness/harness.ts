import { randomBytes } from "node:crypto";
import { Parley } from "parley/client";
import postgres from "postgres";
import { createApiKey } from "../../src/apikeys/store.ts";
import type { App } from "../../src/app.ts";
import { readConfig } from "../../src/kernel/config.ts";
import { type Ctx, createContext } from "../../src/kernel/context.ts";
import { openDatabase, type Sql } from "../../src/kernel/database/client.ts";
import type { Form } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MemoryRelay } from "../../src/kernel/relay/memory.ts";
import { RedisRelay } from "../../src/kernel/relay/redis.ts";
import type { Relay } from "../../src/kernel/relay/relay.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { followersOpen } from "../../src/kernel/telemetry/metrics.ts";
import { type SimulatedModel, startSimulatedModel } from "../../src/simulated-model/server.ts";
import { inProcess } from "./runtimes.ts";
import { serviceInProcess, serviceInProcesses, type Workers } from "./service.ts";

export { eventually } from "./eventually.ts";

/**
 * A test file's own database and the real service on it: in this process, or as
 * processes of their own (`runtimes.ts`).
 */
export interface Harness {
  /** The service's context; where the service runs elsewhere, one like it, for tests that call its functions. */
  readonly ctx: Ctx;
  readonly app: App;
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly model: SimulatedModel;
  /** Starts one more worker pool; the end of the harness ends it too. */
  startWorkers(): Promise<Workers>;
  tenant(options?: TenantOptions): Promise<TestTenant>;
  stop(): Promise<void>;
}

export interface TenantOptions {
  readonly name?: string;
  readonly form?: Form;
}

/** A tenant with a key of its own. */
export interface TestTenant {
  readonly id: string;
  readonly token: string;
  /** Calls the service as the tenant, in form B and typed: for what a test prepares. Throws `ParleyError`. */
  readonly parley: Parley;
  /** One request as a test writes it, and its response as it is: for what a test tests. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiResponse>;
}

export interface CallOptions {
  /** JSON, or text or bytes sent as they are. */
  readonly body?: unknown;
  readonly form?: Form;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, or the text where it is none, or null when empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
  readonly body: any;
}

export interface HarnessOptions {
  readonly env?: Record<string, string>;
  /** The relay of a service in this process, for tests that watch it. */
  readonly relay?: Relay;
  /** Run jobs. */
  readonly worker?: boolean;
}

/** The run's shared Redis; null where none is installed, then tests that need one are skipped. */
export const sharedRedisUrl = process.env.PARLEY_TEST_REDIS_URL || null;
const origin = "http://parley.test";

/** Starts a harness. The environment lets tests talk to servers on this machine. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const databaseUrl = await cloneDatabase();
  const env = { ALLOW_PRIVATE_NETWORK: "1", LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? "silent", ...options.env };
  const config = readConfig(env);
  const sql = openDatabase({ url: databaseUrl, max: 10, applicationName: "parley-test" });
  const relay = options.relay ?? (inProcess ? new MemoryRelay() : sharedRelay());
  const encryptionKey = config.encryptionKey ?? randomBytes(32);
  const log = createLogger(config.logLevel);
  const ctx = createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl: origin });
  const model = startSimulatedModel({ chunkDelayMs: 0 });
  const service = inProcess
    ? serviceInProcess(ctx, databaseUrl)
    : await serviceInProcesses({
        ...env,
        LOG_LEVEL: "info",
        DATABASE_URL: databaseUrl,
        REDIS_URL: sharedRedisUrl ?? "",
        ENCRYPTION_KEY: encryptionKey.toString("base64"),
        PUBLIC_URL: origin,
      });
  if (options.worker === true) await service.startWorkers();
  // All files share one process: responses that another one never read to their end are no readers here.
  if (inProcess) followersOpen.reset();
  return {
    ctx,
    sql,
    databaseUrl,
    model,
    app: service.app,
    startWorkers: service.startWorkers,
    tenant: (tenantOptions = {}) => makeTenant(service.app, sql, tenantOptions),
    stop: async () => {
      await service.stop();
      await model.stop();
      await relay.close();
      await sql.end({ timeout: 5 });
      await dropDatabase(databaseUrl);
    },
  };
}

/** The relay that the service's processes share. */
function sharedRelay(): Relay {
  if (sharedRedisUrl === null) throw new Error("The service as processes of its own needs `redis-server` on the path.");
  return new RedisRelay({ url: sharedRedisUrl, onError: () => {} });
}

async function makeTenant(app: App, sql: Sql, { name = "Test", form = "b" }: TenantOptions): Promise<TestTenant> {
  const id = newId("tenant");
  await sql`insert into tenants (id, name, form) values (${id}, ${name}, ${form})`;
  const { token } = await createApiKey(sql, id, "test", null);
  return {
    id,
    token,
    parley: new Parley({ baseUrl: origin, apiKey: token, fetch: app }),
    call: (method, path, options) => call(app, token, method, path, options),
  };
}

async function call(
  app: App,
  token: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<ApiResponse> {
  const headers = new Headers(options.headers);
  const credential = options.token === undefined ? token : options.token;
  if (credential !== null) headers.set("authorization", `Bearer ${credential}`);
  if (options.form !== undefined) headers.set("api-form", options.form);
  const { body } = options;
  const isRaw = typeof body === "string" || body instanceof Uint8Array || body instanceof FormData;
  if (body !== undefined && !(body instanceof FormData) && !headers.has("content-type"))
    headers.set("content-type", "application/json");
  const payload = body === undefined ? null : isRaw ? (body as BodyInit) : JSON.stringify(body);
  const response = await app(new Request(`${origin}${path}`, { method, headers, body: payload }));
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text) };
}

function parse(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function templateUrl(): URL {
  const url = process.env.PARLEY_TEST_DATABASE_URL;
  if (url === undefined)
    throw new Error("Run the tests with `npm test` (or `bun test/run.ts <file>`), which starts their Postgres.");
  return new URL(url);
}

async function withAdmin(work: (admin: postgres.Sql) => Promise<unknown>): Promise<void> {
  const url = templateUrl();
  url.pathname = "/postgres";
  const admin = postgres(url.href, { max: 1, onnotice: () => {} });
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

/** A database of this test's own, made from the migrated template. */
export function cloneDatabase(): Promise<string> {
  return createDatabase("parley_template");
}

/** A database of this test's own that nobody migrated. */
export function emptyDatabase(): Promise<string> {
  return createDatabase("template1");
}

async function createDatabase(template: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await withAdmin((admin) => admin.unsafe(`create database ${name} template ${template}`));
  const url = templateUrl();
  url.pathname = `/${name}`;
  return url.href;
}

/** Refuses every new connection to a database and breaks those of an application, until `work` has resolved. */
export async function withoutConnections(
  url: string,
  applicationName: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await withAdmin(async (admin) => {
    await admin.unsafe(`alter database ${name} with allow_connections false`);
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${applicationName}`;
    try {
      await work();
    } finally {
      await admin.unsafe(`alter database ${name} with allow_connections true`);
    }
  });
}

/** Drops a database of a test's own, whoever is still connected. */
export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await withAdmin((admin) => admin.unsafe(`drop database if exists ${name} with (force)`));
}
