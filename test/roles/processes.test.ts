import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { type SimulatedModel, startSimulatedModel } from "../../src/simulated-model/server.ts";
import { freePort } from "../harness/free-port.ts";
import { cloneDatabase, dropDatabase, emptyDatabase, eventually } from "../harness/harness.ts";
import { pgbouncerInstalled, startPgbouncer } from "../harness/pgbouncer.ts";
import { type Child, startRole } from "../harness/process.ts";
import { userMessage } from "../harness/seed.ts";

const redisUrl = process.env.PARLEY_TEST_REDIS_URL ?? "";
let databaseUrl: string;
let shared: Record<string, string>;
let model: SimulatedModel;
const children: Child[] = [];
beforeAll(async () => {
  databaseUrl = await cloneDatabase();
  model = startSimulatedModel({ chunkDelayMs: 0 });
  shared = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    ALLOW_PRIVATE_NETWORK: "1",
    DRAIN_SECONDS: "10",
  };
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
});
afterAll(async () => {
  await model.stop();
  await dropDatabase(databaseUrl);
});

function launch(role: string, env: Record<string, string>, words: string[] = []): Child {
  const child = startRole(role, env, words);
  children.push(child);
  return child;
}

async function serving(child: Child): Promise<string> {
  return (await child.prints(/"url":"([^"]+)","host":"[^"]+","port":\d+,"msg":"serving"/))[1] as string;
}

/** What a role says that cannot start; it must be one line, on standard error. */
async function refusal(role: string, env: Record<string, string>): Promise<string> {
  const child = launch(role, env);
  expect(await child.ended()).toBe(1);
  expect(child.stderr()).toMatch(/^parley: [^\n]+\n$/);
  expect(child.stdout()).toBe("");
  return child.stderr();
}

describe("a role that cannot start", () => {
  test("serve and work without their configuration name every missing variable", async () => {
    for (const role of ["serve", "work"]) {
      const said = await refusal(role, {});
      for (const name of ["DATABASE_URL", "REDIS_URL", "ENCRYPTION_KEY"]) expect(said).toContain(name);
    }
    const said = await refusal("serve", { DATABASE_URL: databaseUrl, ENCRYPTION_KEY: shared.ENCRYPTION_KEY as string });
    expect(said).toContain("REDIS_URL must be set");
  }, 60_000);

  test("a wrong value is refused by name", async () => {
    for (const role of ["serve", "work", "start", "migrate", "tenant"])
      expect(await refusal(role, { ...shared, REDIS_URL: "redis", LOG_LEVEL: "loud" })).toMatch(
        /REDIS_URL|name a command|No command/,
      );
  }, 60_000);

  test("serve and work refuse a schema that is not migrated; migrate mends it, and may run five times at once", async () => {
    const url = await emptyDatabase();
    const env = { ...shared, REDIS_URL: "redis://127.0.0.1:1", DATABASE_URL: url, PORT: "0" };
    for (const role of ["serve", "work"]) expect(await refusal(role, env)).toContain("npm run migrate");
    const migrating = Array.from({ length: 5 }, () => launch("migrate", env));
    for (const child of migrating) expect([await child.ended(), child.stderr()]).toEqual([0, ""]);
    // One did it all, and the others say that nothing was left.
    expect(migrating.filter((child) => child.stdout().includes("nothing to do"))).toHaveLength(4);
    await serving(launch("serve", env));
    await migrate(url, createLogger("silent"));
    for (const child of children.splice(0)) await child.kill();
    await dropDatabase(url);
  }, 60_000);

  test("every role refuses a database of the old numbering, and says what to do", async () => {
    const url = await emptyDatabase();
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    await sql`create table schema_migrations (name text primary key, applied_at timestamptz not null default now())`;
    await sql`insert into schema_migrations (name) values ('0001_tenants.sql'), ('0002_agents.sql')`;
    await sql.end();
    const home = await mkdtemp(join(tmpdir(), "parley-home-"));
    const env = { ...shared, REDIS_URL: redisUrl, DATABASE_URL: url, PORT: "0", PARLEY_HOME: home };
    for (const role of ["migrate", "start", "serve", "work"])
      expect(await refusal(role, env)).toMatch(
        /before 0\.2 .*cannot be upgraded.*Name an empty database in DATABASE_URL/,
      );
    await rm(home, { recursive: true, force: true });
    await dropDatabase(url);
  }, 60_000);

  test("a database that is not there", async () => {
    const url = new URL(databaseUrl);
    url.pathname = "/missing";
    expect(
      await refusal("serve", { ...shared, REDIS_URL: "redis://127.0.0.1:1", DATABASE_URL: url.href, PORT: "0" }),
    ).toContain("DATABASE_URL");
  });

  test.skipIf(!pgbouncerInstalled)(
    "a pooler in transaction mode is refused by every role that works on the database",
    async () => {
      const pool = await startPgbouncer(databaseUrl, "transaction", 5);
      for (const role of ["serve", "work", "migrate"]) {
        const env = { ...shared, REDIS_URL: "redis://127.0.0.1:1", DATABASE_URL: pool.url, PORT: "0" };
        expect(await refusal(role, env)).toContain("transaction mode");
      }
      await pool.stop();
    },
    60_000,
  );

  test("serve on a taken port names PORT", async () => {
    const first = launch("serve", { ...shared, REDIS_URL: "redis://127.0.0.1:1", PORT: String(await freePort()) });
    const { port } = new URL(await serving(first));
    expect(await refusal("serve", { ...shared, REDIS_URL: "redis://127.0.0.1:1", PORT: port })).toContain("PORT");
  }, 60_000);
});

describe.skipIf(redisUrl === "")("serve and work as processes of their own", () => {
  async function tenantWithAgent(url: string): Promise<{ token: string; tenantId: string; agentId: string }> {
    const child = launch("tenant", shared, ["create", "--name", "Split", "--json"]);
    await child.ended();
    const { tenantId, token } = JSON.parse(child.stdout().trim());
    const post = async (path: string, body: unknown) => {
      const response = await call(url, token, path, body);
      return (await response.json()) as { id: string };
    };
    const provider = await post("/v1/providers", {
      name: "p",
      providerType: "custom",
      baseUrl: model.url,
      apiKey: "k",
    });
    const agent = await post("/v1/agents", { name: "a", model: "simulated/model", providerId: provider.id });
    return { token, tenantId, agentId: agent.id };
  }

  function call(url: string, token: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  test("a turn accepted by one process is run by another; both finish it on SIGTERM and exit 0", async () => {
    const serve = launch("serve", { ...shared, PORT: "0" });
    const work = launch("work", shared);
    const url = await serving(serve);
    await work.prints(/"msg":"working"/);
    const { token, agentId } = await tenantWithAgent(url);
    const path = `/v1/agents/${agentId}/sessions`;
    const response = await call(url, token, path, { message: userMessage("[[sim: chunks=30 size=300 delayMs=50]]") });
    expect(response.status).toBe(201);
    let streamed = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const running = streamed.includes("text-delta");
      streamed += new TextDecoder().decode(chunk);
      if (running || !streamed.includes("text-delta")) continue;
      serve.process.kill("SIGTERM");
      work.process.kill("SIGTERM");
    }
    expect(streamed).toEndWith("data: [DONE]\n\n");
    expect(streamed).not.toContain('"type":"error"');
    expect([await serve.ended(), await work.ended()]).toEqual([0, 0]);
  }, 60_000);

  test("429 rate_limited: two HTTP processes share one tenant's limit", async () => {
    const urls = await Promise.all([1, 2].map(() => serving(launch("serve", { ...shared, PORT: "0" }))));
    const { token, tenantId } = await tenantWithAgent(urls[0] as string);
    const set = launch("tenant", shared, ["set", "--tenant", tenantId, "--rate-limit", "5"]);
    expect(await set.ended()).toBe(0);
    // A second may begin in between, so one of several tries must see the exact number. Two limits would let ten through.
    await eventually(async () => {
      const responses = await Promise.all(
        Array.from({ length: 12 }, (_, place) => call(urls[place % 2] as string, token, "/v1/apikeys")),
      );
      const refused = responses.filter((response) => response.status === 429);
      for (const response of refused) expect(response.headers.get("retry-after")).toMatch(/^[1-9]/);
      return responses.length - refused.length === 5;
    }, 60_000);
  }, 120_000);
});
