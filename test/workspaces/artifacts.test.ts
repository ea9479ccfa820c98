import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { todoTools } from "../../src/tools/todos.ts";
import type { ToolScope } from "../../src/tools/tool.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import {
  callTool,
  execute,
  filesOf,
  type Result,
  upload,
  useWorkingScope,
  type WorkingScope,
} from "../harness/workspace-scope.ts";

const working = await useWorkingScope({ worker: true });
const { h, t, run } = working;

function bash(command: string, on: ToolScope = working.scope): Promise<Result> {
  return callTool(on, "bash", { command });
}

describe("Artifacts: DELETE /v1/agents/:agentId/sessions/:sessionId", () => {
  async function session(): Promise<{ agentId: string; sessionId: string; on: WorkingScope }> {
    const agent = await t.call("POST", "/v1/agents", { form: "b", body: { name: `a ${crypto.randomUUID()}` } });
    const [agentId, sessionId] = [agent.body.id, newId("session")];
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${sessionId}, ${t.id}, ${agentId}, true)`;
    return { agentId, sessionId, on: { ...working.scope, agentId, sessionId } };
  }

  function remove(
    { agentId, sessionId }: { agentId: string; sessionId: string },
    query: string,
    form: "a" | "b" = "b",
  ) {
    return t.call("DELETE", `/v1/agents/${agentId}/sessions/${sessionId}${query}`, { form });
  }

  test("204 deleteArtifacts=true deletes what the session wrote last, and nothing else", async () => {
    const [one, two] = [await session(), await session()];
    await run("write", { path: "written", content: "1" }, one.on);
    await bash("echo 1 > shell; echo 1 > then-two; mkdir empty", one.on);
    await run("write", { path: "then-upload", content: "1" }, one.on);
    await upload(t, working.scope, "uploaded", "1");
    await upload(t, working.scope, "edited", "1");
    await run("edit", { path: "edited", oldText: "1", newText: "2" }, one.on);
    await upload(t, working.scope, "then-upload", "2");
    await bash("echo 2 > then-two; cat shell", two.on);
    await run("read", { path: "uploaded" }, one.on);
    expect((await remove(one, "?deleteArtifacts=true")).status).toBe(204);
    expect(Object.keys(await filesOf(working.scope))).toEqual(["then-two", "then-upload", "uploaded"]);
    expect((await remove(two, "?deleteArtifacts=false")).status).toBe(204);
    expect(Object.keys(await filesOf(working.scope))).toHaveLength(3);
  });

  test("204 in form A keeps all; 400 without the choice in form B", async () => {
    const one = await session();
    await run("write", { path: "a", content: "1" }, one.on);
    expect((await remove(one, "")).status).toBe(400);
    expect((await remove(one, "?deleteArtifacts=maybe")).status).toBe(400);
    expect((await remove(one, "", "a")).status).toBe(204);
    expect(await filesOf(working.scope)).toEqual({ a: "1" });
  });

  test("a stateless generation's files are nobody's artifacts", async () => {
    await run("write", { path: "a", content: "1" }, { ...working.scope, sessionId: null });
    const [row] = await h.sql`select session_id from workspace_files where workspace_id = ${working.scope.workspaceId}`;
    expect(row?.sessionId).toBeNull();
  });
});

describe("write_todos", () => {
  const todos = [
    { content: "one", status: "completed" },
    { content: "two", status: "pending" },
  ];

  test("returns the list and keeps it with the session, each in place of the one before", async () => {
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${working.scope.sessionId}, ${t.id}, ${working.scope.agentId}, true)`;
    const [tool] = todoTools(working.scope);
    expect([tool?.name, tool?.readOnly]).toEqual(["write_todos", false]);
    const kept = async () => (await h.sql`select todos from sessions where id = ${working.scope.sessionId}`)[0]?.todos;
    for (const list of [todos, todos.slice(1), []]) {
      expect(await execute(tool, { todos: list })).toEqual({ todos: list });
      expect(await kept()).toEqual(list);
    }
    expect(await execute(todoTools({ ...working.scope, sessionId: null })[0], { todos })).toEqual({ todos });
  });
});

describe("A turn with the tool groups", () => {
  test("POST /v1/agents/:agentId/sessions 201: the model writes, runs and reads; the files go with the session", async () => {
    const agentId = await makeAgent(h, t, { tools: ["workspace", "write_todos"] });
    const workspaceId = (await t.call("GET", `/v1/agents/${agentId}`, { form: "b" })).body.workspaceId;
    const calls = [
      ["write", { path: "a.txt", content: "from the model\n" }],
      ["bash", { command: "cat a.txt > b.txt; wc -l < b.txt" }],
      ["write_todos", { todos: [{ content: "read", status: "pending" }] }],
      ["read", { path: "missing.txt" }],
      ["read", { path: "b.txt" }],
    ] as const;
    const script = calls.map(([tool, input]) => `tool=${tool} args=${JSON.stringify(input)}`).join("; ");
    const turn = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      form: "b",
      body: { message: userMessage(`[[sim: ${script}; text=done ]]`), stream: false },
    });
    expect(turn.status).toBe(201);
    const parts = turn.body.message.parts.filter(({ type }: { type: string }) => type.startsWith("tool-"));
    expect(parts.map((part: Result) => part.output ?? part.errorText)).toEqual([
      { path: "a.txt", sizeBytes: 15 },
      { exitCode: 0, stdout: "1\n", stderr: "" },
      { todos: [{ content: "read", status: "pending" }] },
      "There is no file missing.txt.",
      { path: "b.txt", content: "from the model\n", sizeBytes: 15 },
    ]);
    const list = async () => (await t.call("GET", `/v1/workspaces/${workspaceId}/files`, { form: "b" })).body.files;
    expect(await list()).toHaveLength(2);
    const path = `${turn.headers.get("location")}?deleteArtifacts=true`;
    expect((await t.call("DELETE", path, { form: "b" })).status).toBe(204);
    expect(await list()).toEqual([]);
  });
});
