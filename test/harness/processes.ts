import { randomBytes } from "node:crypto";
import { Parley } from "parley/client";
import { createApiKey } from "../../src/apikeys/store.ts";
import { openDatabase, type Sql } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type SimulatedModel, startSimulatedModel } from "../../src/simulated-model/server.ts";
import { cloneDatabase, dropDatabase, eventually, sharedRedisUrl } from "./harness.ts";
import { makeAgent } from "./seed.ts";
import {
  type Elsewhere,
  launchServe,
  launchWork,
  type ServeProcess,
  type ServiceProcess,
  type WorkProcess,
} from "./service-process.ts";
import { type Chunk, StreamReader } from "./stream-reader.ts";

/** A tenant with a key of its own and an agent on the simulated model. */
export interface Client {
  readonly tenantId: string;
  readonly agentId: string;
  readonly token: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Starts a turn of a new session, or of `sessionId`, and follows its stream. */
  turn(text: string, sessionId?: string): Promise<Turn>;
  /** The same without a stream: resolves when the turn has ended. */
  json(text: string, sessionId?: string): Promise<JsonResponse>;
  /** Joins the running turn. Throws when nothing runs. */
  join(sessionId: string): Promise<Turn>;
  /** The same tenant at another HTTP process. */
  at(url: string): Client;
}

/** An accepted turn and its caller's stream. */
export interface Turn {
  readonly turnId: string;
  readonly sessionId: string;
  readonly stream: StreamReader;
}

export interface JsonResponse {
  readonly status: number;
  readonly turnId: string | null;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
  readonly body: any;
}

export { sharedRedisUrl } from "./harness.ts";

/** Longer than what a test of processes waits for takes on a busy machine: several of them start, die and recover at once. */
export const processWaitMs = 60_000;

/** A database, a Redis, a simulated model, and any number of processes on them. */
export interface Installation extends AsyncDisposable {
  readonly databaseUrl: string;
  readonly sql: Sql;
  readonly model: SimulatedModel;
  readonly env: Readonly<Record<string, string>>;
  serve(env?: Record<string, string>, elsewhere?: Elsewhere): Promise<ServeProcess>;
  work(env?: Record<string, string>, elsewhere?: Elsewhere): Promise<WorkProcess>;
  /** A tenant that talks to this process; its agent is on the simulated model, or on another one. */
  client(url: string, modelUrl?: string): Promise<Client>;
  /** Kills every process it started, and drops the database when it made it. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts an installation, without any process yet. */
export async function startInstallation(
  options: { readonly databaseUrl?: string; readonly redisUrl?: string; readonly modelAddress?: string } = {},
): Promise<Installation> {
  const databaseUrl = options.databaseUrl ?? (await cloneDatabase());
  const redisUrl = options.redisUrl ?? sharedRedisUrl ?? "";
  const sql = openDatabase({ url: databaseUrl, max: 5, applicationName: "parley-test" });
  const model = startSimulatedModel({ chunkDelayMs: 0, hostname: options.modelAddress ?? "127.0.0.1" });
  const started: ServiceProcess[] = [];
  const env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    ALLOW_PRIVATE_NETWORK: "1",
    LOG_LEVEL: "debug",
  };
  return {
    databaseUrl,
    sql,
    model,
    env,
    serve: (more = {}, elsewhere) => launchServe({ ...env, ...more }, (process) => started.push(process), elsewhere),
    work: (more = {}, elsewhere) => launchWork({ ...env, ...more }, (process) => started.push(process), elsewhere),
    client: (url, modelUrl = model.url) => makeClient({ url, sql, modelUrl }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(started.map((process) => process.kill()));
      await model.stop();
      await sql.end({ timeout: 1 });
      if (options.databaseUrl === undefined) await dropDatabase(databaseUrl);
    },
  };
}

async function makeClient({ url, sql, modelUrl }: { url: string; sql: Sql; modelUrl: string }): Promise<Client> {
  const tenantId = newId("tenant");
  await sql`insert into tenants (id, name, form) values (${tenantId}, 'Test', 'b')`;
  const { token } = await createApiKey(sql, tenantId, "test", null);
  const parley = new Parley({ baseUrl: url, apiKey: token });
  return clientAt(url, { tenantId, token, agentId: await makeAgent({ model: { url: modelUrl } }, { parley }) });
}

/** What a tenant of an installation does at one of its HTTP processes. */
export function clientAt(url: string, who: Pick<Client, "tenantId" | "token" | "agentId">): Client {
  const request: Client["request"] = (method, path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${who.token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const sessions = `/v1/agents/${who.agentId}/sessions`;
  const pathOf = (sessionId?: string) => (sessionId === undefined ? sessions : `${sessions}/${sessionId}`);
  return {
    ...who,
    request,
    turn: async (text, sessionId) => {
      const response = await request("POST", pathOf(sessionId), { message: userMessage(text) });
      return follow(response, sessionId ?? response.headers.get("location")?.split("/").at(-1) ?? "");
    },
    json: async (text, sessionId) => {
      const response = await request("POST", pathOf(sessionId), { message: userMessage(text), stream: false });
      const { status, headers } = response;
      return { status, headers, turnId: headers.get("x-turn-id"), body: await response.json() };
    },
    join: async (sessionId) => follow(await request("GET", `${pathOf(sessionId)}/stream`), sessionId),
    at: (other) => clientAt(other, who),
  };
}

async function follow(response: Response, sessionId: string): Promise<Turn> {
  if (!response.ok || response.status === 204) throw new Error(`${response.status} ${await response.text()}`);
  return { turnId: response.headers.get("x-turn-id") ?? "", sessionId, stream: new StreamReader(response) };
}

function userMessage(text: string) {
  return { id: `m-${newId("message")}`, role: "user", parts: [{ type: "text", text }] };
}

/** What must hold after a turn has ended, whatever happened meanwhile. */
export interface Aftermath {
  readonly status: string;
  readonly attempt: number;
  /** Usage rows: one for each ended turn. */
  readonly metered: number;
  /** Messages of the session that this turn wrote. */
  readonly messages: number;
}

/** What became of a turn, once it has ended and the queue has forgotten its job: a running one may have none. */
export async function aftermathOf(sql: Sql, turnId: string): Promise<Aftermath> {
  return eventually(async () => {
    const [row] = await sql<(Aftermath & { jobs: number })[]>`
      select status, attempt,
        (select count(*)::int from usage where turn_id = t.id) as metered,
        (select count(*)::int from messages where turn_id = t.id) as messages,
        (select count(*)::int from graphile_worker._private_jobs where payload ->> 'turnId' = t.id) as jobs
      from turns t where id = ${turnId}`;
    if (row === undefined) throw new Error(`There is no turn ${turnId}.`);
    const { jobs, ...aftermath } = row;
    const isUnderWay = ["enqueued", "queued", "running"].includes(aftermath.status);
    return jobs === 0 && !isUnderWay ? (aftermath as Aftermath) : null;
  }, processWaitMs);
}

/** How often the model was asked with this text in the last user message. */
export function callsOf(model: SimulatedModel, text: string): number {
  return model.requests().filter(({ body }) => JSON.stringify(body).includes(text)).length;
}

/** The text that a stream's deltas add up to. */
export function textOf(chunks: readonly Chunk[]): string {
  return chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [String(chunk.delta)] : [])).join("");
}
