import { describe, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { useService } from "../harness/fixture.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { startRole } from "../harness/process.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const h = await useService({ worker: true });

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function tenant(...words: string[]): Promise<Outcome> {
  return run({ DATABASE_URL: h.databaseUrl }, words);
}

async function run(env: Record<string, string>, words: string[]): Promise<Outcome> {
  const child = startRole("tenant", env, words);
  const status = await child.ended();
  return { status, stdout: child.stdout(), stderr: child.stderr() };
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

describe("tenant create", () => {
  test("--json ends with the tenant and a token that works, listed as a key", async () => {
    const made = await tenant("create", "--name", "Ünal & Söhne", "--form", "a", "--json");
    expect([made.status, made.stderr]).toEqual([0, ""]);
    const { tenantId, token } = JSON.parse(lastLine(made.stdout));
    expect(tenantId).toMatch(/^ten_[0-9a-z]{24}$/);
    expect(token).toMatch(/^parley_[A-Za-z0-9]{40}$/);
    const keys = await (await h.tenant()).call("GET", "/v1/apikeys", { token });
    expect([keys.status, keys.headers.get("api-form"), keys.body.apiKeys.length]).toEqual([200, "a", 1]);
  });

  test("--admin-agent makes the managed agent", async () => {
    const made = await tenant("create", "--name", "Managed", "--admin-agent", "--json");
    const { token } = JSON.parse(lastLine(made.stdout));
    const anybody = await h.tenant();
    const { body } = await anybody.call("GET", "/v1/agents", { token });
    expect(body.agents).toHaveLength(1);
    const refused = await anybody.call("DELETE", `/v1/agents/${body.agents[0].id}`, { token });
    expect(statusAndCode(refused)).toEqual([409, "admin_agent_managed"]);
  });
});

describe("a command that cannot be run", () => {
  const wrong: [string, ...string[]][] = [
    ["--name is missing", "create"],
    ["--name must have", "create", "--name", ""],
    ["--name must have", "create", "--name", "x".repeat(81)],
    ["--form must be a or b", "create", "--name", "x", "--form", "c"],
    ["--color", "create", "--name", "x", "--color", "red"],
    ["extra", "create", "--name", "x", "extra"],
    ["--form is given twice", "create", "--name", "x", "--form", "a", "--form", "b"],
    ["shape ten_", "set", "--tenant", "nope", "--form", "a"],
    ["There is no tenant", "set", "--tenant", `ten_${"0".repeat(24)}`, "--form", "a"],
    ["There is no tenant", "delete", "--tenant", `ten_${"0".repeat(24)}`],
    ['no command "erase"', "erase"],
  ];

  test("ends with 1 and one line, and changes nothing", async () => {
    const count = async () => (await h.sql`select count(*)::int as tenants from tenants`)[0]?.tenants;
    const before = await count();
    for (const [said, ...words] of wrong) {
      const outcome = await tenant(...words);
      expect(outcome.status).toBe(1);
      expect(outcome.stderr).toMatch(/^parley: [^\n]+\n$/);
      expect(outcome.stderr).toContain(said);
    }
    expect(await count()).toBe(before);
  }, 180_000);

  test("tenant set: one wrong value among right ones changes nothing", async () => {
    const t = await h.tenant();
    const values = [
      ["--subscription", "paused"],
      ["--usage-credit", "-1"],
      ["--rate-limit", "-5"],
      ["--rate-limit", "--weight", "2"],
      ["--name", ""],
      ["--name", "x".repeat(81)],
      ["--usage-credit=-1"],
      ["--usage-credit", "1.5"],
      ["--quota-turns-per-day", "2147483648"],
      ["--rate-limit", "fast"],
      ["--monetization", "yes"],
      ["--pause-hours", "0"],
      ["--pause-hours", "8761"],
      ["--pause-hours", "none"],
      ["--retention-days", "0"],
      ["--retention-days", "36501"],
      ["--running-turns", "-1"],
      ["--running-turns", "2147483648"],
      ["--queued-turns", "many"],
      ["--queued-turns", "2147483648"],
      ["--weight", "0"],
      ["--weight", "101"],
      ["--weight", "none"],
      ["--api-keys", "0"],
      ["--api-keys", "1001"],
      ["--api-keys", "none"],
      ["--form"],
    ];
    for (const value of values) {
      const outcome = await tenant("set", "--tenant", t.id, "--subscription", "inactive", ...value);
      expect([outcome.status, outcome.stderr.split("\n").length]).toEqual([1, 2]);
    }
    expect((await tenant("set", "--tenant", t.id)).status).toBe(1);
    expect((await t.call("GET", "/v1/apikeys")).status).toBe(200);
  }, 180_000);
});

describe("tenant key", () => {
  const actionsOf = async (t: TestTenant) =>
    (
      await h.sql`select action, actor_type from audit_events where tenant_id = ${t.id} and actor_type = 'operator'
        order by at`
    ).map(({ action }) => action);

  test("prints a key that works, once, and writes down who made it", async () => {
    const t = await h.tenant();
    const made = await tenant("key", "--tenant", t.id, "--name", "Found again", "--json");
    expect([made.status, made.stderr]).toEqual([0, ""]);
    const { tenantId, apiKeyId, token } = JSON.parse(lastLine(made.stdout));
    expect([tenantId, token]).toEqual([t.id, expect.stringMatching(/^parley_[A-Za-z0-9]{40}$/)]);
    const { apiKeys } = (await t.call("GET", "/v1/apikeys", { token })).body;
    expect(apiKeys.at(-1)).toMatchObject({ id: apiKeyId, name: "Found again", expiresAt: null });
    expect(await actionsOf(t)).toEqual(["api_key.create"]);
    const plain = await tenant("key", "--tenant", t.id);
    expect(plain.stdout).toMatch(/API key {2}parley_[A-Za-z0-9]{40}\n/);
  });

  test("beyond five keys it names them, and --replace makes one in place of another", async () => {
    const t = await h.tenant();
    for (let n = 1; n < 5; n += 1) await tenant("key", "--tenant", t.id, "--name", `key ${n}`);
    const { apiKeys } = (await t.call("GET", "/v1/apikeys")).body;
    const last = apiKeys.at(-1).id;
    const refused = await tenant("key", "--tenant", t.id);
    expect([refused.status, refused.stdout]).toEqual([1, ""]);
    for (const { id } of apiKeys) expect(refused.stderr).toContain(id);
    const missing = await tenant("key", "--tenant", t.id, "--replace", `ak_${"0".repeat(24)}`);
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining("no key of this id")]);
    expect((await tenant("key", "--tenant", t.id, "--replace", last)).status).toBe(0);
    const after = (await t.call("GET", "/v1/apikeys")).body.apiKeys.map(({ id }: { id: string }) => id);
    expect([after.length, after.includes(last)]).toEqual([5, false]);
    expect((await actionsOf(t)).slice(-2).sort()).toEqual(["api_key.create", "api_key.delete"]);
  }, 180_000);

  test("a tenant that is not there, or is being deleted, gets none", async () => {
    const t = await h.tenant();
    await tenant("delete", "--tenant", t.id);
    for (const id of [t.id, `ten_${"0".repeat(24)}`]) {
      const outcome = await tenant("key", "--tenant", id);
      expect([outcome.status, outcome.stderr]).toEqual([1, `parley: There is no tenant ${id}.\n`]);
    }
  });
});

describe("tenant set", () => {
  test("--name renames a tenant", async () => {
    const t = await h.tenant();
    expect((await tenant("set", "--tenant", t.id, "--name", "-Ünal-")).status).toBe(0);
    const [row] = await h.sql`select name from tenants where id = ${t.id}`;
    const [event] = await h.sql`select changes from audit_events where tenant_id = ${t.id} and action = 'tenant.set'`;
    expect([row?.name, event?.changes]).toEqual(["-Ünal-", ["name"]]);
  });

  test("a value below 0 is told what the option takes", async () => {
    const t = await h.tenant();
    for (const [option, range] of [
      ["rate-limit", "0 to 2147483647, or none"],
      ["queued-turns", "0 to 2147483647, or none"],
      ["retention-days", "1 to 36500, or none"],
      ["pause-hours", "1 to 8760"],
    ]) {
      const { stderr } = await tenant("set", "--tenant", t.id, `--${option}`, "-1");
      expect(stderr).toBe(`parley: --${option} must be a whole number from ${range}.\n`);
    }
    const without = await tenant("set", "--tenant", t.id, "--rate-limit", "--weight", "2");
    expect(without.stderr).toBe("parley: --rate-limit needs a value.\n");
  });

  test("402 subscription_required: --subscription inactive, everywhere, in both forms, until it is active again", async () => {
    const t = await h.tenant();
    expect((await tenant("set", "--tenant", t.id, "--subscription", "inactive")).status).toBe(0);
    for (const form of ["a", "b"] as const) {
      for (const path of ["/v1/apikeys", "/v1/agents", "/v1/providers", "/v1/usage", "/v1/prompts"])
        expect(statusAndCode(await t.call("GET", path, { form }))).toEqual([402, "subscription_required"]);
      const made = await t.call("POST", "/v1/agents", { form, body: { name: "x" } });
      expect(statusAndCode(made)).toEqual([402, "subscription_required"]);
    }
    await tenant("set", "--tenant", t.id, "--subscription", "active");
    expect((await t.call("GET", "/v1/agents")).status).toBe(200);
  });

  test("429 rate_limited: --rate-limit 0, every request, with Retry-After; none lifts it", async () => {
    const t = await h.tenant();
    await tenant("set", "--tenant", t.id, "--rate-limit", "0");
    const refused = await t.call("GET", "/v1/agents");
    expect(statusAndCode(refused)).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await tenant("set", "--tenant", t.id, "--rate-limit", "none");
    expect((await t.call("GET", "/v1/agents")).status).toBe(200);
  });

  test("429 quota_exceeded: --quota-turns-per-day counts what was accepted earlier in the UTC day, failed turns too", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    expect((await takeTurn(t, agentId)).status).toBe(201);
    expect((await takeTurn(t, agentId, "[[sim: fail=400]]")).status).toBe(502);
    const yesterday = await takeTurn(t, agentId);
    await h.sql`
      update turns set accepted_at = date_trunc('day', now(), 'UTC') - interval '1 second'
      where id = ${yesterday.headers.get("x-turn-id")}`;
    await tenant("set", "--tenant", t.id, "--quota-turns-per-day", "2");
    const refused = await takeTurn(t, agentId);
    expect(statusAndCode(refused)).toEqual([429, "quota_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await tenant("set", "--tenant", t.id, "--quota-turns-per-day", "3");
    expect((await takeTurn(t, agentId)).status).toBe(201);
    expect(statusAndCode(await takeTurn(t, agentId))).toEqual([429, "quota_exceeded"]);
    await tenant("set", "--tenant", t.id, "--quota-turns-per-day", "none");
    expect((await takeTurn(t, agentId)).status).toBe(201);
  });

  test("402 usage_credit_required: --usage-credit 0, turns only, reads stay open; all values show in the list", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const flags = [
      "--usage-credit",
      "0",
      "--quota-turns-per-day",
      "7",
      "--rate-limit",
      "50",
      "--monetization",
      "on",
      "--pause-hours",
      "8760",
      "--retention-days",
      "36500",
      "--running-turns",
      "3",
      "--queued-turns",
      "none",
      "--weight",
      "100",
      "--api-keys",
      "7",
    ];
    await tenant("set", "--tenant", t.id, ...flags, "--form", "a");
    expect(statusAndCode(await takeTurn(t, agentId))).toEqual([402, "usage_credit_required"]);
    expect((await t.call("GET", "/v1/agents")).headers.get("api-form")).toBe("a");
    const listed = JSON.parse(lastLine((await tenant("list", "--json")).stdout));
    expect(listed.find((one: { tenantId: string }) => one.tenantId === t.id)).toEqual({
      tenantId: t.id,
      name: "Test",
      form: "a",
      status: "active",
      subscription: "active",
      usageCredit: 0,
      quotaTurnsPerDay: 7,
      rateLimit: 50,
      monetization: true,
      pauseHours: 8760,
      retentionDays: 36500,
      runningTurns: 3,
      queuedTurns: null,
      weight: 100,
      apiKeysMax: 7,
      groups: {},
      storedMib: null,
      storedBytes: expect.any(Number),
      createdAt: expect.any(String),
    });
    expect((await tenant("list")).stdout).toContain(`${t.id}  Test`);
    expect((await tenant("set", "--tenant", t.id, "--retention-days", "none")).status).toBe(0);
    expect(await h.sql`select 1 from tenants where id = ${t.id} and retention_days is null`).toHaveLength(1);
  });
});

describe("tenant delete", () => {
  test("401 unauthorized: at once when nothing runs; its secrets are gone, and it is listed no more", async () => {
    const t = await h.tenant();
    await t.call("POST", "/v1/apikeys", { body: { name: "x" }, headers: { "idempotency-key": "one" } });
    await t.call("POST", "/v1/providers", {
      body: { name: "p", providerType: "custom", baseUrl: "https://models.example.com/v1", apiKey: "sk-secret" },
    });
    expect((await tenant("delete", "--tenant", t.id)).stdout).toBe(`${t.id} is deleted.\n`);
    expect(statusAndCode(await t.call("GET", "/v1/agents"))).toEqual([401, "unauthorized"]);
    const [left] = await h.sql`
      select (select count(*)::int from api_keys where tenant_id = ${t.id}) as keys,
        (select coalesce(sum(length(sealed_key)), 0)::int from providers where tenant_id = ${t.id}) as sealed`;
    expect(left).toEqual({ keys: 0, sealed: 0 });
    await eventually(async () => {
      const rows = await h.sql`
        select 1 from idempotency_keys where tenant_id = ${t.id} union all select 1 from providers where tenant_id = ${t.id}`;
      return rows.length === 0;
    });
    expect((await tenant("list")).stdout).not.toContain(t.id);
    expect((await tenant("delete", "--tenant", t.id)).status).toBe(1);
  });

  test("409 tenant_deleting: new turns while a turn runs, reads work; the last turn's end ends it", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const running = t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { message: userMessage("[[sim: hangAfterChunks=2]]") },
    });
    const [turn] = await eventually(async () => {
      const rows = await h.sql`select session_id from turns where tenant_id = ${t.id} and status = 'running'`;
      return rows.length > 0 ? rows : null;
    });
    const deleting = await tenant("delete", "--tenant", t.id);
    expect([deleting.status, deleting.stdout]).toEqual([0, expect.stringContaining("takes no new turns")]);
    expect(statusAndCode(await takeTurn(t, agentId))).toEqual([409, "tenant_deleting"]);
    expect((await t.call("GET", "/v1/agents")).status).toBe(200);
    expect((await tenant("list")).stdout).toMatch(new RegExp(`${t.id} .*deleting`));
    expect((await t.call("POST", `/v1/agents/${agentId}/sessions/${turn?.sessionId}/cancel`)).status).toBe(202);
    expect((await running).body).toContain('"type":"abort"');
    await eventually(async () => (await t.call("GET", "/v1/agents")).status === 401);
    expect((await tenant("list")).stdout).not.toContain(t.id);
  });
});

describe("without DATABASE_URL", () => {
  test("a command works on the home's own database, started for the moment", async () => {
    const home = await mkdtemp(join(tmpdir(), "parley-tenant-"));
    try {
      const refused = await run({ PARLEY_HOME: home }, ["create", "--name", "First", "--json"]);
      expect([refused.status, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(`DATABASE_URL is not set, and there is no database in ${home}.`);
      expect(await readdir(home)).toEqual([]);
      // What a service leaves that ran there once.
      await (await startEmbeddedPostgres({ home, fast: true, log: () => {} })).stop();
      const made = await run({ PARLEY_HOME: home }, ["create", "--name", "First", "--json"]);
      expect([made.status, made.stderr]).toEqual([0, ""]);
      const { tenantId } = JSON.parse(lastLine(made.stdout));
      expect((await run({ PARLEY_HOME: home }, ["list"])).stdout).toContain(tenantId);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }, 180_000);
});

/** One turn of an agent of its own, to its end. */
async function takeTurn(t: TestTenant, agentId: string, text = "Hello") {
  return t.call("POST", `/v1/agents/${agentId}/sessions`, {
    body: { message: userMessage(text), stream: false },
    form: "b",
  });
}
