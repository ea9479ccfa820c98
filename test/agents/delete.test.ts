import { describe, expect, test } from "bun:test";
import postgres from "postgres";
import { loadAgentForTurn } from "../../src/agents/load.ts";
import { purgeAgent } from "../../src/agents/purge.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createProvider } from "../../src/providers/store.ts";
import { agentPurges } from "../../workers/tasks.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";

const { h, t } = await useTenant();

let named = 0;
async function made(fields: object = {}) {
  const response = await t.call("POST", "/v1/agents", { body: { name: `agent ${++named}`, ...fields } });
  expect([response.status, response.body.error]).toEqual([201, undefined]);
  return response.body;
}

async function turn(agentId: string, sessionId: string, status: string): Promise<string> {
  const id = newId("turn");
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, status, agent_version, assistant_message_id)
    values (${id}, ${t.id}, ${agentId}, ${sessionId}, 'session', ${status}, 1, ${newId("message")})`;
  return id;
}

/** Sessions of an agent: visible, hidden and deleted ones, each with messages and an ended turn. */
async function sessions(agentId: string, count: number): Promise<void> {
  await h.sql`
    with made as (
      insert into sessions (id, tenant_id, agent_id, visible, message_count, deleted_at)
      select 'ss_' || ${agentId.slice(3, 15)} || lpad(n::text, 12, '0'), ${t.id}, ${agentId}, n % 5 > 0, 4,
        case when n % 7 = 0 then now() end from generate_series(1, ${count}) n
      returning id
    ), written as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select id, seq, 'msg_' || right(id, 22) || seq, 'user', 'turn_x', '{}' from made, generate_series(1, 4) seq
    )
    insert into turns (id, tenant_id, agent_id, session_id, kind, status, agent_version, assistant_message_id)
    select 'turn_' || right(id, 24), ${t.id}, ${agentId}, id, 'session', 'succeeded', 1, '' from made`;
}

async function left(agentId: string): Promise<number[]> {
  const [row] = await h.sql<{ sessions: number; messages: number; turns: number; usage: number }[]>`
    select (select count(*)::int from sessions where agent_id = ${agentId}) as sessions,
      (select count(*)::int from messages where session_id like ${`ss_${agentId.slice(3, 15)}%`}) as messages,
      (select count(*)::int from turns where agent_id = ${agentId}) as turns,
      (select count(*)::int from usage where agent_id = ${agentId}) as usage`;
  return [row?.sessions ?? -1, row?.messages ?? -1, row?.turns ?? -1, row?.usage ?? -1];
}

describe("DELETE /v1/agents/:agentId", () => {
  test("204: gone at once with its versions, what runs is asked to stop, the purge is queued, the workspace stays", async () => {
    const agent = await made();
    await t.call("PUT", `/v1/agents/${agent.id}`, { body: { instructions: "x" } });
    const session = newId("session");
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${session}, ${t.id}, ${agent.id}, true)`;
    const ended = await turn(agent.id, session, "succeeded");
    const running = await turn(agent.id, session, "running");
    const heard: string[] = [];
    const listener = postgres(h.databaseUrl, { max: 1 });
    await listener.listen("parley_cancel", (turnId) => heard.push(turnId));
    const response = await t.call("DELETE", `/v1/agents/${agent.id}`);
    expect([response.status, response.body]).toEqual([204, null]);
    await eventually(() => heard.length > 0);
    await listener.end();
    expect(heard).toEqual([running]);
    const asked = await h.sql`select id from turns where agent_id = ${agent.id} and cancel_requested_at is not null`;
    expect(asked.map((row) => row.id)).toEqual([running]);
    expect(asked.map((row) => row.id)).not.toContain(ended);
    const jobs =
      await h.sql`select key from graphile_worker.jobs where key like ${`agent.purge:${agent.id}%`} order by key`;
    expect(jobs).toHaveLength(2);
    expect(await h.sql`select 1 from agent_versions where agent_id = ${agent.id}`).toHaveLength(0);
    expect(await h.sql`select 1 from workspaces where id = ${agent.workspaceId}`).toHaveLength(1);
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/versions"],
      ["GET", "/mcp-attachments"],
    ] as const)
      expect((await t.call(method, `/v1/agents/${agent.id}${path}`)).status).toBe(404);
    expect((await t.call("GET", "/v1/agents")).body.agents).toEqual([]);
  });

  test("204 frees the MCP connections and, in form A, the sandbox", async () => {
    const connection = newId("mcpConnection");
    await h.sql`insert into mcp_connections (id, tenant_id, name, url, auth_type, status)
      values (${connection}, ${t.id}, 'c', 'https://mcp.test', 'none', 'connected')`;
    const agent = await made({ mcpConnectionIds: [connection] });
    const refused = await h.sql`delete from mcp_connections where id = ${connection}`.catch((error) => error);
    expect(refused.constraint_name).toBe("mcp_attachments_connection_fk");
    const sandboxId = `sb_${agent.workspaceId.slice(3)}`;
    expect((await t.call("DELETE", `/v1/agents/${agent.id}`, { form: "a" })).status).toBe(204);
    const next = await t.call("POST", "/v1/agents", { body: { name: "next", sandboxId }, form: "a" });
    expect(next.status).toBe(201);
    expect((await h.sql`delete from mcp_connections where id = ${connection}`).count).toBe(1);
  });
});

describe("the purge of a deleted agent", () => {
  test("removes sessions of every kind with their messages and ended turns, in batches; usage and others stay", async () => {
    const [agent, other] = [await made(), await made()];
    await sessions(agent.id, 1_050);
    await sessions(other.id, 10);
    await h.sql`insert into usage (turn_id, tenant_id, agent_id, input_tokens, output_tokens, duration_ms, day)
      values ('turn_u', ${t.id}, ${agent.id}, 1, 1, 1, '2026-01-01')`;
    await purgeAgent(h.ctx, { agentId: agent.id, tenantId: t.id }, agentPurges);
    expect(await left(agent.id)).toEqual([1_050, 4_200, 1_050, 1]);
    await t.call("DELETE", `/v1/agents/${agent.id}`);
    await purgeAgent(h.ctx, { agentId: agent.id, tenantId: t.id }, agentPurges);
    expect(await left(agent.id)).toEqual([0, 0, 0, 1]);
    expect(await left(other.id)).toEqual([10, 40, 10, 0]);
    await purgeAgent(h.ctx, { agentId: agent.id, tenantId: t.id }, agentPurges);
  });

  test("asks a turn that slipped in to stop, leaves its session until it has ended, and comes back", async () => {
    const agent = await made();
    await t.call("DELETE", `/v1/agents/${agent.id}`);
    await sessions(agent.id, 3);
    const session = newId("session");
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${session}, ${t.id}, ${agent.id}, true)`;
    const running = await turn(agent.id, session, "running");
    await purgeAgent(h.ctx, { agentId: agent.id, tenantId: t.id }, agentPurges);
    expect(await left(agent.id)).toEqual([1, 0, 1, 0]);
    const [row] = await h.sql`select cancel_requested_at from turns where id = ${running}`;
    expect(row?.cancelRequestedAt).not.toBeNull();
    const again = await h.sql`select run_at > now() as later from graphile_worker.jobs
      where key = ${`agent.purge:${agent.id}:again`}`;
    expect(again.map((job) => job.later)).toEqual([true]);
    await h.sql`update turns set status = 'canceled' where id = ${running}`;
    await purgeAgent(h.ctx, { agentId: agent.id, tenantId: t.id }, agentPurges);
    expect(await left(agent.id)).toEqual([0, 0, 0, 0]);
  });
});

describe("loadAgentForTurn", () => {
  test("resolves the version, its provider, and says when either is gone", async () => {
    const id = newId("provider");
    const sealedKey = h.ctx.sealer.seal("key", id);
    const provider = { id, name: "p", providerType: "custom" as const, baseUrl: h.model.url, keyFragment: "frag" };
    const stored = await createProvider(h.sql, t.id, { ...provider, sealedKey });
    const agent = await made({ providerId: id, model: "simulated/model", instructions: "one" });
    await t.call("PUT", `/v1/agents/${agent.id}`, { body: { providerId: null, model: null, instructions: "two" } });
    const load = (version: number | null, tenantId = t.id) => loadAgentForTurn(h.sql, tenantId, agent.id, version);
    const current = await load(null);
    expect(current).toMatchObject({
      id: agent.id,
      tenantId: t.id,
      status: "active",
      managed: false,
      workspaceId: agent.workspaceId,
      version: 2,
      provider: null,
      providerMissing: false,
    });
    expect(current?.config?.instructions).toBe("two");
    const pinned = await load(1);
    expect(pinned?.config).toMatchObject({ instructions: "one", providerId: id, model: "simulated/model" });
    expect(pinned?.provider).toEqual(stored);
    expect(await load(2)).toEqual(current);
    expect(await load(3)).toMatchObject({ version: 3, config: null, provider: null, providerMissing: false });
    expect(await load(null, newId("tenant"))).toBeNull();
    await h.sql`delete from providers where id = ${id}`;
    expect(await load(1)).toMatchObject({ provider: null, providerMissing: true });
  });
});
