import { describe, expect, test } from "bun:test";
import { eraseResponses, resourcesOf } from "../../../src/kernel/http/erase-keys.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { form, skillMd, zip } from "../../harness/archives.ts";
import { useChat } from "../../harness/chat-fixture.ts";
import { type ApiResponse, type CallOptions, eventually, type TestTenant } from "../../harness/harness.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { play, script, sessionPath } from "../../harness/turns.ts";

const fixture = await useChat();
const { h } = fixture;
const { t, agentId } = await fixture.tenant();

const stored = async (key: string) => {
  const [row] =
    await h.sql`select status, headers, sealed_body from idempotency_keys where tenant_id = ${t.id} and key = ${key}`;
  return row ?? null;
};

/** Asks with a key of its own, and returns how to ask again. */
async function keyed(path: string, body: unknown, tenant: TestTenant = t) {
  const key = crypto.randomUUID();
  const ask = (): Promise<ApiResponse> => {
    const options: CallOptions = {
      body: typeof body === "function" ? body() : body,
      headers: { "idempotency-key": key },
    };
    return tenant.call("POST", path, options);
  };
  const made = await ask();
  expect(made.status).toBeLessThan(300);
  return { key, ask, made };
}

/** A stored response goes with what it tells of; its repeat makes nothing. */
async function expectErased({ key, ask }: Awaited<ReturnType<typeof keyed>>, path: string): Promise<void> {
  expect((await stored(key))?.sealedBody).not.toBeNull();
  expect((await t.call("DELETE", path)).status).toBeLessThan(300);
  await eventually(async () => (await stored(key))?.sealedBody === null);
  expect(await stored(key)).toMatchObject({ headers: null });
  const repeated = await ask();
  expect(statusAndCode(repeated)).toEqual([422, "idempotency_key_reused"]);
  expect(repeated.body.error.message).toContain("deleted");
}

describe("a stored response is erased with what it tells of", () => {
  test("a memory, and a skill of an agent", async () => {
    const memory = await keyed(`/v1/agents/${agentId}/memories`, { text: "likes tea" });
    const other = await keyed(`/v1/agents/${agentId}/memories`, { text: "likes cake" });
    await expectErased(memory, `/v1/agents/${agentId}/memories/${memory.made.body.id}`);
    expect((await other.ask()).body).toEqual(other.made.body);
    const skill = await keyed(`/v1/agents/${agentId}/skills`, { path: "SKILL.md", content: skillMd("Keyed") });
    await expectErased(skill, `/v1/agents/${agentId}/skills/${skill.made.body.id}`);
  });

  test("a workspace, a prompt, a task and its run", async () => {
    const workspace = await keyed("/v1/workspaces", { name: "w" });
    await expectErased(workspace, `/v1/workspaces/${workspace.made.body.id}`);
    const prompt = await keyed("/v1/prompts", { name: "p", template: "t" });
    await expectErased(prompt, `/v1/prompts/${prompt.made.body.id}`);
    const task = await keyed("/v1/tasks", { agentId, name: "n", prompt: "p", enabled: false });
    await expectErased(task, `/v1/tasks/${task.made.body.task.id}`);
  });

  test("a library skill, and a chat connection", async () => {
    const archive = zip([{ name: "SKILL.md", data: skillMd() }]);
    const skill = await keyed("/v1/skills", () => form({ file: archive }));
    await expectErased(skill, `/v1/skills/${skill.made.body.id}`);
    const { token: botToken, signingSecret } = fixture.slack.install();
    const body = { name: "c", agentId, platform: "chat_a", credentials: { botToken, signingSecret } };
    const connection = await keyed("/v1/chat-connections", body);
    await expectErased(connection, `/v1/chat-connections/${connection.made.body.id}`);
  });

  test("a session: the decisions on its calls; an agent: all that names it", async () => {
    const { sessionId } = await play(t, agentId, null, { message: script('tool=memory_save args={"text":"x"}') });
    const { approvals } = (await t.call("GET", sessionPath(agentId, sessionId, "/tool-approvals"))).body;
    const path = sessionPath(agentId, sessionId, `/tool-approvals/${approvals[0].id}`);
    const decision = await keyed(path, { approved: false, reason: "a secret" });
    await eventually(
      async () =>
        (await h.sql`select 1 from turns where session_id = ${sessionId} and finished_at is null`).length === 0,
    );
    expect((await t.call("DELETE", sessionPath(agentId, sessionId, "?deleteArtifacts=false"))).status).toBe(204);
    await eventually(async () => (await stored(decision.key))?.sealedBody === null);
    const agent = await keyed("/v1/agents", { name: "keyed", instructions: "a secret" });
    const memory = await keyed(`/v1/agents/${agent.made.body.id}/memories`, { text: "a secret" });
    const task = await keyed("/v1/tasks", { agentId, name: "n", prompt: "p" });
    await expectErased(agent, `/v1/agents/${agent.made.body.id}`);
    await eventually(async () => (await stored(memory.key))?.sealedBody === null);
    expect((await stored(task.key))?.sealedBody).not.toBeNull();
  });

  test("at once: a key with its token, a member with its address, a provider, a budget", async () => {
    for (const [path, body] of [
      ["/v1/apikeys", { name: "k", role: "reader" }],
      ["/v1/members", { email: "eve@example.com", role: "reader" }],
      ["/v1/providers", { name: "p", providerType: "anthropic", apiKey: "sk-ant-0123456789" }],
      ["/v1/budgets", { name: "b", period: "day", limit: { turns: 5 } }],
      ["/v1/webhooks", { url: "https://example.com/hook", events: ["turn.ended"] }],
    ] as const) {
      const made = await keyed(path, body);
      const { id } = made.made.body.id === undefined ? Object.values(made.made.body as object)[0] : made.made.body;
      expect((await t.call("DELETE", `${path}/${id}`)).status).toBeLessThan(300);
      expect(statusAndCode(await made.ask())).toEqual([422, "idempotency_key_reused"]);
    }
  });

  test("in more steps than one", async () => {
    const id = newId("memory");
    await h.sql`insert into idempotency_keys (tenant_id, key, request_digest, status, headers, sealed_body, resource_ids)
      select ${t.id}, 'many ' || n, '', 201, '{}', 'x', array[${id}] from generate_series(1, 2100) n`;
    await eraseResponses(h.sql, [id]);
    const left = await h.sql`
      select 1 from idempotency_keys where tenant_id = ${t.id} and key like 'many %' and sealed_body is not null`;
    expect(left).toHaveLength(0);
  });
});

test("a response belongs to what its path and its own fields name, not to what a caller's metadata names", () => {
  const [agent, session, task, run, other] = [
    newId("agent"),
    newId("session"),
    newId("task"),
    newId("taskRun"),
    newId("agent"),
  ];
  const body = JSON.stringify({
    task: { id: task, agentId: agent, metadata: { agentId: other }, name: other },
    runId: run,
  });
  expect(resourcesOf("/v1/tasks", body)).toEqual([task, agent, run]);
  expect(resourcesOf(`/v1/agents/${agent}/sessions/${session}/x`, null)).toEqual([agent, session]);
  const body24 = newId("workspace").slice(3);
  expect(resourcesOf("/v1/sandboxes", JSON.stringify({ id: `sb_${body24}` }))).toEqual([`ws_${body24}`]);
  expect(resourcesOf("/v1/agents", '"text"')).toEqual([]);
});
