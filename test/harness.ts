import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { createApiKey } from "../src/apikeys/store.ts";
import { type App, createApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { type Ctx, createContext } from "../src/context.ts";
import { openDatabase, type Sql } from "../src/db.ts";
import type { Form } from "../src/errors.ts";
import { newId } from "../src/ids.ts";
import { createLogger } from "../src/log.ts";
import { MemoryRelay } from "../src/relay/memory.ts";
import type { Relay } from "../src/relay/relay.ts";
import { type SimulatedModel, startSimulatedModel } from "../src/simulated-model/server.ts";
import { startWorkerPool, type WorkerPool } from "../workers/main.ts";

/** A test file's own database and the real service on it, in this process. */
export interface Harness {
  readonly ctx: Ctx;
  readonly app: App;
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly model: SimulatedModel;
  /** The worker pool in this process; null when the test starts its own. */
  readonly pool: WorkerPool | null;
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
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  /** JSON, or text or bytes sent as they are. */
  readonly body?: unknown;
  readonly form?: Form;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, or the text where it is none, or null when empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely.
  readonly body: any;
}

export interface HarnessOptions {
  readonly env?: Record<string, string>;
  readonly relay?: Relay;
  /** Run jobs in this process. */
  readonly worker?: boolean;
}

const origin = "http://parley.test";

/** Starts a harness. The environment lets tests talk to servers on this machine. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const databaseUrl = await cloneDatabase();
  const config = readConfig({
    ALLOW_PRIVATE_NETWORK: "1",
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? "silent",
    ...options.env,
  });
  const sql = openDatabase({ url: databaseUrl, max: 10, applicationName: "parley-test" });
  const relay = options.relay ?? new MemoryRelay();
  const encryptionKey = randomBytes(32);
  const log = createLogger(config.logLevel);
  const ctx = createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl: origin });
  const app = createApp(ctx);
  const model = startSimulatedModel({ chunkDelayMs: 0 });
  const pool = options.worker === true ? await startWorkerPool(ctx, { databaseUrl }) : null;
  return {
    ctx,
    app,
    pool,
    sql,
    databaseUrl,
    model,
    tenant: (tenantOptions = {}) => makeTenant(app, sql, tenantOptions),
    stop: async () => {
      await pool?.drain(0);
      await model.stop();
      await relay.close();
      await sql.end({ timeout: 5 });
      await dropDatabase(databaseUrl);
    },
  };
}

async function makeTenant(app: App, sql: Sql, { name = "Test", form = "b" }: TenantOptions): Promise<TestTenant> {
  const id = newId("tenant");
  await sql`insert into tenants (id, name, form) values (${id}, ${name}, ${form})`;
  const { token } = await createApiKey(sql, id, "test", null);
  return { id, token, call: (method, path, options) => call(app, token, method, path, options) };
}

async function call(app: App, token: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
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
export async function cloneDatabase(): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await withAdmin((admin) => admin.unsafe(`create database ${name} template parley_template`));
  const url = templateUrl();
  url.pathname = `/${name}`;
  return url.href;
}

/** Drops a database that `cloneDatabase` made, whoever is still connected. */
export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await withAdmin((admin) => admin.unsafe(`drop database if exists ${name} with (force)`));
}

/** Waits until `check` answers something other than null, undefined or false. Throws after `limitMs`. */
export async function eventually<T>(check: () => T | Promise<T>, limitMs = 10_000): Promise<NonNullable<T>> {
  const expiresAt = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== null && value !== undefined && value !== false) return value as NonNullable<T>;
    if (Date.now() > expiresAt) throw new Error(`Not so within ${limitMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
