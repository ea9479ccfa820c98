import { afterAll, expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { type ApiResponse, eventually } from "../../harness/harness.ts";
import { userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { McpServer } from "../../servers/mcp.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});
const other = await h.tenant();
const mcp = new McpServer();
afterAll(() => mcp.stop());

const newKey = () => ({ "idempotency-key": crypto.randomUUID() });

/** Connections of the service that are inside a transaction, or wait in one. */
async function openTransactions(): Promise<number> {
  const [row] = await h.sql<{ open: number }[]>`
    select count(*)::int as open from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'`;
  return row?.open ?? 0;
}

/** That another tenant reads and writes, under keys too. */
async function expectOthersServed(): Promise<void> {
  const named = () => ({ body: { name: crypto.randomUUID(), template: "x" }, headers: newKey() });
  const responses = await Promise.all([
    ...Array.from({ length: 10 }, () => other.call("GET", "/v1/agents")),
    ...Array.from({ length: 10 }, () => other.call("POST", "/v1/prompts", named())),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([...Array(10).fill(200), ...Array(10).fill(201)]);
}

/** Holds every request to the MCP server back; returns how many it holds, and what lets them go. */
function holdServer(): { held: () => number; release: () => void } {
  let held = 0;
  const released = Promise.withResolvers<void>();
  mcp.settings.intercept = async () => {
    held += 1;
    await released.promise;
    return new Response(null, { status: 503 });
  };
  return {
    held: () => held,
    release: () => {
      mcp.settings.intercept = null;
      released.resolve();
    },
  };
}

test("25 decisions at once, each under a key of its own, on a pool of 10: all succeed, and others are served", async () => {
  const script = '[[sim: tool=memory_save args={"text":"tea"} ; text="Done."]]';
  const waiting: { path: string; approvalId: string }[] = [];
  for (let n = 0; n < 25; n++) {
    const first = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage(script) } });
    const path = first.headers.get("location") ?? "";
    const [approval] = (await t.call("GET", `${path}/tool-approvals`)).body.approvals;
    waiting.push({ path, approvalId: approval.id });
  }
  const decisions = waiting.map(({ path, approvalId }) =>
    t.call("POST", `${path}/tool-approvals/${approvalId}`, { body: { approved: true }, headers: newKey() }),
  );
  await expectOthersServed();
  expect((await Promise.all(decisions)).map(({ status }) => status)).toEqual(waiting.map(() => 202));
});

for (const what of ["create", "test", "reconnect", "agent"] as const) {
  test(`30 requests with keys at an MCP server that stays silent hold no connection: ${what}`, async () => {
    const tenant = await h.tenant();
    const ids: string[] = [];
    if (what !== "create")
      for (let n = 0; n < 30; n++) {
        const body = { name: `m${n}`, url: mcp.url, authType: "none" };
        ids.push((await tenant.call("POST", "/v1/mcp-connections", { body })).body.id);
      }
    const { held, release } = holdServer();
    const asked = Array.from({ length: 30 }, (_, n): Promise<ApiResponse> => {
      const headers = newKey();
      const target = { url: mcp.url, authType: "none" };
      const id = ids[n] ?? "";
      if (what === "create")
        return tenant.call("POST", "/v1/mcp-connections", { body: { name: `m${n}`, ...target }, headers });
      if (what === "test") return tenant.call("POST", `/v1/mcp-connections/${id}/test`, { headers });
      if (what === "reconnect")
        return tenant.call("POST", `/v1/mcp-connections/${id}/reconnect`, { body: target, headers });
      const approvalInChat = {
        default: "auto",
        overrides: [{ mcpConnectionId: id, tool: "x", mode: "manual" }],
      };
      return tenant.call("POST", "/v1/agents", {
        body: { name: `a${n}`, mcpConnectionIds: [id], approvalInChat },
        headers,
      });
    });
    try {
      await eventually(() => held() >= 30);
      // The worker's own are short.
      await eventually(async () => (await openTransactions()) === 0);
      await expectOthersServed();
    } finally {
      release();
    }
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses).toEqual(asked.map(() => (what === "test" ? 200 : 400)));
  });
}

test("409 idempotency_in_progress, 422 idempotency_key_reused: the same key twice at once; later repeats get the stored response", async () => {
  const { held, release } = holdServer();
  const headers = newKey();
  const body = { name: "twice", url: mcp.url, authType: "oauth_authorization_code" };
  const send = (change = {}) =>
    t.call("POST", "/v1/mcp-connections", { body: { ...body, authType: "none", ...change }, headers });
  const first = send();
  await eventually(() => held() === 1);
  const second = await send();
  expect([...statusAndCode(second), second.headers.get("retry-after")]).toEqual([409, "idempotency_in_progress", "1"]);
  expect(statusAndCode(await send({ name: "another" }))).toEqual([422, "idempotency_key_reused"]);
  const turn = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage("x") }, headers });
  expect(statusAndCode(turn)).toEqual([422, "idempotency_key_reused"]);
  release();
  // It failed, so the key is free.
  expect((await first).status).toBe(400);
  const [made, repeat] = [await send(), await send()];
  expect([made.status, repeat.status, repeat.body]).toEqual([201, 201, made.body]);
  expect(statusAndCode(await send({ name: "another" }))).toEqual([422, "idempotency_key_reused"]);
});

test("a key whose process died is busy until its lease is over; then the repeat works, and the dead one writes nothing", async () => {
  const { held, release } = holdServer();
  const headers = newKey();
  const body = { name: "lost", url: mcp.url, authType: "none" };
  const send = (change = {}) => t.call("POST", "/v1/mcp-connections", { body: { ...body, ...change }, headers });
  const frozen = send();
  await eventually(() => held() === 1);
  await h.sql`update idempotency_keys set leased_until = now() - interval '1 s' where key = ${headers["idempotency-key"]}`;
  expect(statusAndCode(await send({ name: "another" }))).toEqual([422, "idempotency_key_reused"]);
  const repeat = send();
  await eventually(() => held() === 2);
  mcp.settings.intercept = null;
  release();
  for (const { status } of await Promise.all([frozen, repeat])) expect(status).toBe(400);
  const names = (await t.call("GET", "/v1/mcp-connections")).body.mcpConnections.map(
    (row: { name: string }) => row.name,
  );
  expect(names).not.toContain("lost");
  expect((await send()).status).toBe(201);
});

test("a request whose key was taken over writes nothing, and its repeat gets the other's response", async () => {
  const headers = newKey();
  const body = { name: "taken over", url: mcp.url, authType: "none" };
  const send = () => t.call("POST", "/v1/mcp-connections", { body, headers });
  const released = Promise.withResolvers<void>();
  let held = 0;
  mcp.settings.intercept = () => (held++ === 0 ? released.promise.then(() => null) : null);
  const frozen = send();
  await eventually(() => held === 1);
  await h.sql`update idempotency_keys set leased_until = now() - interval '1 s' where key = ${headers["idempotency-key"]}`;
  const made = await send();
  expect(made.status).toBe(201);
  released.resolve();
  mcp.settings.intercept = null;
  expect((await frozen).status).toBe(409);
  expect((await send()).body).toEqual(made.body);
  const [stored] =
    await h.sql`select count(*)::int as rows from mcp_connections where tenant_id = ${t.id} and name = 'taken over'`;
  expect(stored?.rows).toBe(1);
});
