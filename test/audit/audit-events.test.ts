import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { SignJWT } from "jose";
import { useAgent } from "../harness/fixture.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { startRole } from "../harness/process.ts";
import { userMessage } from "../harness/seed.ts";

const secret = "a dashboard secret of 32 letters";
const { h, t, agentId } = await useAgent({
  worker: true,
  env: { DASHBOARD_JWT_SECRET: secret },
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});

interface Event {
  readonly id: string;
  readonly at: string;
  readonly actor: { readonly type: string; readonly id: string | null };
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly requestId: string;
  readonly changes: readonly string[];
  readonly values: readonly { readonly field: string; readonly before: string | null; readonly after: string }[];
}

const list = (tenant: TestTenant, query = "") => tenant.call("GET", `/v1/audit-events${query}`);
const eventsOf = async (resourceId: string, tenant = t): Promise<Event[]> =>
  (await list(tenant, `?resourceId=${resourceId}`)).body.data;
const keyOf = async (tenant: TestTenant) => (await tenant.call("GET", "/v1/apikeys")).body.apiKeys[0].id as string;

describe("an audit event", () => {
  test("says who did what to which thing, in which request, which fields changed, and never what was written", async () => {
    const made = await t.call("POST", "/v1/prompts", { body: { name: "Hello", template: "Say a secret word" } });
    const path = `/v1/prompts/${made.body.id}`;
    const changed = await t.call("PATCH", path, { body: { name: "Hello", template: "Say another word" } });
    const gone = await t.call("DELETE", path);
    const actor = { type: "api_key", id: await keyOf(t) };
    const common = {
      id: expect.stringMatching(/^aud_[0-9a-z]{24}$/),
      at: expect.any(String),
      actor,
      actorName: "test",
    };
    const of = { resourceType: "prompt", resourceId: made.body.id };
    const requestOf = ({ headers }: { headers: Headers }) => headers.get("x-request-id") ?? "";
    const events = await eventsOf(made.body.id);
    expect(events).toEqual([
      { ...common, ...of, action: "prompt.delete", requestId: requestOf(gone), changes: [], values: [] },
      { ...common, ...of, action: "prompt.update", requestId: requestOf(changed), changes: ["template"], values: [] },
      {
        ...{ ...common, ...of, action: "prompt.create", requestId: requestOf(made) },
        ...{ changes: ["name", "template"], values: [] },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain("word");
  });

  test("of an agent names what the update changed", async () => {
    const before = await t.call("GET", `/v1/agents/${agentId}`);
    const body = { name: before.body.name, instructions: "Be brief.", metadata: before.body.metadata };
    expect((await t.call("PUT", `/v1/agents/${agentId}`, { body })).status).toBe(200);
    const [event] = await eventsOf(agentId);
    expect([event?.action, event?.changes]).toEqual(["agent.update", ["instructions", "version"]]);
    await t.call("POST", `/v1/agents/${agentId}/disable`);
    await t.call("POST", `/v1/agents/${agentId}/enable`);
    const [enabled, disabled] = await eventsOf(agentId);
    expect([enabled?.action, disabled?.action, disabled?.changes]).toEqual([
      "agent.enable",
      "agent.disable",
      ["status"],
    ]);
  });

  test("says what settings became: numbers, words of closed lists, lists and parts of them", async () => {
    const agent = (
      await t.call("POST", "/v1/agents", {
        body: { name: "Was", compactionReserveTokens: 3000, tools: ["memory"], metadata: { plan: "pro", seats: 4 } },
      })
    ).body.id;
    const body = { name: "Is", compactionReserveTokens: 4000, tools: ["memory", "workspace"], metadata: { seats: 5 } };
    await t.call("PUT", `/v1/agents/${agent}`, { body });
    const [updated, created] = await eventsOf(agent);
    expect(updated).toMatchObject({ changes: ["name", "compactionReserveTokens", "tools", "metadata", "version"] });
    expect(updated?.values).toEqual([
      { field: "compactionReserveTokens", before: "3000", after: "4000" },
      { field: "tools", before: "memory", after: "memory, workspace" },
      { field: "version", before: "1", after: "2" },
    ]);
    expect(created?.values.map(({ field, before, after }) => [field, before, after])).toEqual([
      ["compactionReserveTokens", null, "3000"],
      ["tools", null, "memory"],
    ]);
  });

  test("says what a limit of money became, as text and as a number, and nothing where only what is not kept changed", async () => {
    const budget = (
      await t.call("POST", "/v1/budgets", {
        body: { name: "B", period: "month", limit: { usd: "5" } },
      })
    ).body;
    for (const usd of ["500.25", 6]) await t.call("PATCH", `/v1/budgets/${budget.id}`, { body: { limit: { usd } } });
    const limits = (await eventsOf(budget.id)).map(({ values }) => values.find(({ field }) => field === "limit"));
    expect(limits.map((limit) => [limit?.before, limit?.after].map((text) => JSON.parse(text ?? "null")?.usd))).toEqual(
      [
        ["500.25", "6"],
        ["5", "500.25"],
        [undefined, "5"],
      ],
    );
    const prompt = "Say it";
    const at8 = { kind: "cron", config: { expression: "0 8 * * *", timezone: "UTC" } };
    const task = (
      await t.call("POST", "/v1/tasks", {
        body: { agentId, name: "T", prompt, schedule: at8 },
      })
    ).body;
    const at9 = { ...at8, config: { ...at8.config, expression: "0 9 * * *" } };
    await t.call("PATCH", `/v1/tasks/${task.task.id}`, { body: { schedule: at9 } });
    const [updated] = await eventsOf(task.task.id);
    expect(updated).toMatchObject({ action: "task.update", changes: ["schedule"] });
    expect(updated?.values).toEqual([]);
  });

  test("keeps nothing of what somebody wrote, of addresses with tokens in them, of headers and of ids of users", async () => {
    const word = "unheard-of-0123456789";
    await t.call("POST", "/v1/webhooks", { body: { url: `https://a.example/?${word}`, events: ["turn.ended"] } });
    await t.call("POST", `/v1/agents/${agentId}/memories`, { body: { text: word, userId: word } });
    await t.call("POST", "/v1/mcp-connections", {
      body: { name: "M", url: `https://a.example/${word}`, auth: { type: "headers", headers: { "x-a": word } } },
    });
    await t.call("POST", "/v1/client-tokens", { body: { agentId, userId: word } });
    await t.call("PUT", `/v1/agents/${agentId}`, { body: { name: "Kept", instructions: word, metadata: { word } } });
    const rows = await h.sql`select * from audit_events where tenant_id = ${t.id}`;
    expect(rows.length).toBeGreaterThan(3);
    expect(JSON.stringify(rows)).not.toContain("unheard-of");
  });

  test("is found by when it was", async () => {
    const other = await h.tenant();
    await other.call("POST", "/v1/prompts", { body: { name: "x", template: "x" } });
    const { at } = (await list(other)).body.data[0];
    const behind = new Date(Date.parse(at) + 1).toISOString();
    const count = async (query: string) => (await list(other, query)).body.data.length;
    expect([await count(`?from=${at}`), await count(`?from=${behind}`)]).toEqual([1, 0]);
    expect([await count(`?to=${at}`), await count(`?from=${at}&to=${behind}`)]).toEqual([0, 1]);
    expect((await list(other, "?from=2026-02-30T00:00:00Z")).body.error.details.issues[0].path).toBe("from");
    expect((await list(other, `?from=${behind}&to=${at}`)).body.error.details.issues[0].path).toBe("to");
  });

  test("of a secret names the field", async () => {
    const made = await t.call("POST", "/v1/providers", {
      body: { name: "P", providerType: "openai", apiKey: "sk-very-secret-0123456789" },
    });
    const rows = await h.sql`select * from audit_events where resource_id = ${made.body.id}`;
    expect(rows[0]?.changes).toEqual(["name", "providerType", "apiKey"]);
    expect(JSON.stringify(rows)).not.toContain("sk-very");
  });

  test("names a dashboard user", async () => {
    const signed = async (claims: object) =>
      new SignJWT({ tenantId: t.id, ...claims })
        .setProtectedHeader({ alg: "HS256" })
        .setExpirationTime("1h")
        .sign(new TextEncoder().encode(secret));
    for (const [claims, id] of [
      [{ authUserId: "user_7" }, "user_7"],
      [{}, null],
    ] as const) {
      const token = await signed(claims);
      const made = await t.call("POST", "/v1/prompts", { token, body: { name: `By ${id}`, template: "x" } });
      expect((await eventsOf(made.body.id))[0]?.actor).toEqual({ type: "dashboard_user", id });
    }
  });

  test("names a sandbox as form A does, from its creation on", async () => {
    const made = await t.call("POST", "/v1/sandboxes", { form: "a", body: { name: "S" } });
    const changed = await t.call("PUT", `/v1/sandboxes/${made.body.id}`, { form: "a", body: { name: "S2" } });
    expect([made.status, changed.status]).toEqual([201, 200]);
    const events = await eventsOf(made.body.id);
    expect(events.map(({ action, changes }) => [action, changes])).toEqual([
      ["sandbox.update", ["name"]],
      ["sandbox.create", ["name"]],
    ]);
  });

  test("stays after what it is about is deleted, and after its key", async () => {
    const other = await h.tenant();
    const key = await other.call("POST", "/v1/apikeys", { body: { name: "second" } });
    const made = await other.call("POST", "/v1/prompts", { token: key.body.token, body: { name: "x", template: "x" } });
    await other.call("DELETE", `/v1/apikeys/${key.body.apiKey.id}`);
    expect((await eventsOf(made.body.id, other))[0]?.actor).toEqual({
      type: "api_key",
      id: key.body.apiKey.id,
    });
    expect((await eventsOf(key.body.apiKey.id, other)).map(({ action }) => action)).toEqual([
      "api_key.delete",
      "api_key.create",
    ]);
    expect(await eventsOf(made.body.id)).toEqual([]);
  });
});

describe("one event", () => {
  test("for a request and its repeats under an Idempotency-Key", async () => {
    const request = { body: { name: "Once", template: "x" }, headers: { "idempotency-key": "audit-1" } };
    const [first, ...others] = await Promise.all(
      Array.from({ length: 5 }, () => t.call("POST", "/v1/prompts", request)),
    );
    const again = await t.call("POST", "/v1/prompts", request);
    const { id } = [first, ...others, again].find((response) => response?.status === 201)?.body ?? {};
    expect(again.body.id).toBe(id);
    expect(await eventsOf(id)).toHaveLength(1);
  });

  test("none where nothing changed, but for an agent's update, which saves a version", async () => {
    const agent = (await t.call("POST", "/v1/agents", { body: { name: "As it was" } })).body.id;
    const prompt = await t.call("POST", "/v1/prompts", { body: { name: "As it was", template: "x" } });
    for (const verb of ["disable", "disable", "enable", "enable"])
      expect((await t.call("POST", `/v1/agents/${agent}/${verb}`)).status).toBe(200);
    await t.call("PUT", `/v1/agents/${agent}`, { body: { name: "As it was" } });
    for (const body of [{ name: "As it was" }, { template: "y" }, { template: "y" }])
      expect((await t.call("PATCH", `/v1/prompts/${prompt.body.id}`, { body })).status).toBe(200);
    const actions = async (id: string) => (await eventsOf(id)).map(({ action }) => action);
    expect(await actions(agent)).toEqual(["agent.update", "agent.enable", "agent.disable", "agent.create"]);
    const [saved, enabled] = await eventsOf(agent);
    expect(saved?.changes).toEqual(["version"]);
    expect(enabled?.values).toEqual([{ field: "status", before: "disabled", after: "active" }]);
    expect(await actions(prompt.body.id)).toEqual(["prompt.update", "prompt.create"]);
  });

  test("none for what is refused", async () => {
    const before = await h.sql`select count(*)::int as events from audit_events`;
    const answers = await Promise.all([
      t.call("POST", "/v1/prompts", { body: { name: "" } }),
      t.call("POST", "/v1/prompts", { body: { name: "" }, headers: { "idempotency-key": "audit-2" } }),
      t.call("DELETE", `/v1/prompts/prompt_${"0".repeat(24)}`),
      t.call("PATCH", `/v1/providers/prv_${"0".repeat(24)}`, { body: { name: "x" } }),
      t.call("POST", "/v1/apikeys", { body: { name: "x" }, token: "parley_none" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 404, 404, 401]);
    expect(await h.sql`select count(*)::int as events from audit_events`).toEqual(before);
  });

  test("and its change are one transaction: without the event there is no change, with a key or without", async () => {
    await h.sql`create function refuse_audit() returns trigger language plpgsql as $$ begin raise 'no'; end $$`;
    await h.sql`create trigger refuse before insert on audit_events for each row execute function refuse_audit()`;
    try {
      for (const headers of [{}, { "idempotency-key": "audit-3" }] as Record<string, string>[]) {
        const made = await t.call("POST", "/v1/prompts", { body: { name: "Never", template: "x" }, headers });
        expect(made.status).toBe(500);
      }
      const changed = await t.call("PUT", `/v1/agents/${agentId}`, { body: { instructions: "Never." } });
      expect([changed.status, (await t.call("DELETE", `/v1/agents/${agentId}`)).status]).toEqual([500, 500]);
    } finally {
      await h.sql`drop function refuse_audit cascade`;
    }
    const prompts = await t.call("GET", "/v1/prompts");
    expect(prompts.body.prompts.some(({ name }: { name: string }) => name === "Never")).toBe(false);
    expect((await t.call("GET", `/v1/agents/${agentId}`)).body.instructions).not.toBe("Never.");
  });
});

describe("sessions", () => {
  test("turns leave none; a decision and the deletion of the session leave one each", async () => {
    const script = '[[sim: tool=memory_save args={"text":"tea"} ; text="Done."]]';
    const first = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage(script) } });
    const path = first.headers.get("location") ?? "";
    const sessionId = path.split("/").at(-1) as string;
    const { approvals } = (await t.call("GET", `${path}/tool-approvals`)).body;
    expect(await eventsOf(sessionId)).toEqual([]);
    await t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: false, reason: "No tea" } });
    await t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: true } });
    const decided = await eventsOf(approvals[0].id);
    expect(decided.map(({ action, resourceType, changes }) => [action, resourceType, changes])).toEqual([
      ["approval.decide", "approval", ["status", "reason"]],
    ]);
    await eventually(
      async () => (await t.call("GET", `${path}/tool-approvals`)).body.continuation.status === "succeeded",
    );
    expect((await t.call("DELETE", `${path}?deleteArtifacts=false`)).status).toBe(204);
    expect((await eventsOf(sessionId)).map(({ action }) => action)).toEqual(["session.delete"]);
  });
});

describe("the list", () => {
  test("filters by action, actor and resource, alone and together, and pages newest first", async () => {
    const tenant = await h.tenant();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const made = await tenant.call("POST", "/v1/prompts", { body: { name: `n${n}`, template: "x" } });
      ids.unshift(made.body.id);
    }
    await tenant.call("DELETE", `/v1/prompts/${ids[0]}`);
    const key = await keyOf(tenant);
    const created: string[] = [];
    let cursor: string | null = null;
    do {
      const query = `?action=prompt.create&actorId=${key}&limit=2${cursor === null ? "" : `&cursor=${cursor}`}`;
      const { body } = await list(tenant, query);
      created.push(...body.data.map((event: Event) => event.resourceId));
      cursor = body.nextCursor;
    } while (cursor !== null);
    expect(created).toEqual(ids);
    const count = async (query: string) => (await list(tenant, query)).body.data.length;
    expect(await count("")).toBe(6);
    expect(await count(`?actorId=${key}`)).toBe(6);
    expect(await count("?actorId=nobody")).toBe(0);
    expect(await count(`?resourceId=${ids[0]}`)).toBe(2);
    expect(await count(`?resourceId=${ids[0]}&action=prompt.delete`)).toBe(1);
    const page = await list(tenant, "?action=prompt.create&limit=1");
    const foreign = await list(tenant, `?cursor=${page.body.nextCursor}`);
    expect([foreign.status, foreign.body.error.code]).toEqual([400, "invalid_cursor"]);
    for (const query of ["?action=", `?actorId=${"x".repeat(257)}`, "?unknown=1", "?limit=201"])
      expect((await list(tenant, query)).status).toBe(400);
  });

  test("reads an index, whatever the filter", async () => {
    const tenant = await h.tenant();
    await h.sql`
      insert into audit_events (id, tenant_id, at, actor_type, actor_id, action, resource_id, changes)
      select 'aud_' || n, ${tenant.id}, now() - n * interval '1 second', 'api_key', 'ak_' || n % 500, 'a.b' || n % 500,
        'x_' || n % 500, '{}' from generate_series(1, 20000) n`;
    await h.sql`analyze audit_events`;
    for (const [filter, index] of [
      ["true", "newest"],
      ["action = 'a.b7'", "action"],
      ["actor_id = 'ak_7'", "actor"],
      ["resource_id = 'x_7'", "resource"],
    ]) {
      const plan = await h.sql.unsafe(
        `explain select * from audit_events where tenant_id = '${tenant.id}' and ${filter} order by at desc, id desc limit 51`,
      );
      expect(JSON.stringify(plan)).toContain(`audit_events_${index}`);
      expect(JSON.stringify(plan)).not.toContain("Sort");
    }
    await h.sql`delete from audit_events where tenant_id = ${tenant.id}`;
  });

  test("keeps events for 400 days", async () => {
    const tenant = await h.tenant();
    await tenant.call("POST", "/v1/prompts", { body: { name: "old", template: "x" } });
    await tenant.call("POST", "/v1/prompts", { body: { name: "older", template: "x" } });
    const [young, old] = (await list(tenant)).body.data as [Event, Event];
    await h.sql`update audit_events set at = now() - interval '399 days' where id = ${young.id}`;
    await h.sql`update audit_events set at = now() - interval '401 days' where id = ${old.id}`;
    await h.sql`select graphile_worker.add_job('audit.sweep', max_attempts => 1)`;
    await eventually(async () => (await list(tenant)).body.data.length === 1);
    expect((await list(tenant)).body.data[0].id).toBe(young.id);
  });
});

describe("the operator's commands", () => {
  const account = spawnSync("id", ["-un"]).stdout.toString().trim();
  const run = async (role: string, ...words: string[]) => {
    const child = startRole(role, { DATABASE_URL: h.databaseUrl, USER: "" }, words);
    const status = await child.ended();
    return { status, stdout: child.stdout() };
  };

  test("leave events of the tenant, and none when they are refused", async () => {
    const made = await run("tenant", "create", "--name", "Audited", "--json");
    const { tenantId, token } = JSON.parse(made.stdout);
    const events = async () => (await t.call("GET", "/v1/audit-events", { token })).body.data as Event[];
    await run("tenant", "set", "--tenant", tenantId, "--rate-limit", "100", "--pause-hours", "5");
    const again = await run("tenant", "set", "--tenant", tenantId, "--rate-limit", "100");
    expect([again.status, again.stdout]).toEqual([0, `${tenantId} has these values already.\n`]);
    expect((await run("tenant", "set", "--tenant", tenantId, "--pause-hours", "0")).status).toBe(1);
    expect((await run("tenant", "set", "--tenant", `ten_${"0".repeat(24)}`, "--rate-limit", "1")).status).toBe(1);
    expect(await events()).toEqual([
      expect.objectContaining({
        action: "tenant.set",
        actor: { type: "operator", id: account },
        resourceType: "tenant",
        resourceId: tenantId,
        requestId: null,
        changes: ["rateLimit", "pauseHours"],
      }),
      expect.objectContaining({ action: "tenant.create", resourceId: tenantId }),
    ]);
    await run("tenant", "delete", "--tenant", tenantId);
    const rows = await h.sql`select action from audit_events where tenant_id = ${tenantId} order by at`;
    expect(rows.map(({ action }) => action)).toEqual(["tenant.create", "tenant.set", "tenant.delete"]);
  });

  test("on jobs and workers leave events that are no tenant's", async () => {
    const [job] = await h.sql`
      select id from graphile_worker.add_job('nobody.knows', run_at => now() + interval '1 day')`;
    await run("queue", "retry", "--job", job?.id);
    await run("queue", "discard", "--job", job?.id);
    const rows = await h.sql`
      select action, tenant_id, actor_type from audit_events where resource_id = ${String(job?.id)} order by at`;
    expect([...rows]).toEqual([
      { action: "job.retry", tenantId: null, actorType: "operator" },
      { action: "job.discard", tenantId: null, actorType: "operator" },
    ]);
  });
});
