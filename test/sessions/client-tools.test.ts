import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { type ApiResponse, eventually } from "../harness/harness.ts";
import { chunksOf, makeAgent, userMessage } from "../harness/seed.ts";
import { McpServer, textTool } from "../servers/mcp.ts";

const locate = {
  name: "locate",
  description: "Where the user is.",
  inputSchema: { type: "object" as const, properties: { precise: { type: "boolean" } }, additionalProperties: false },
};
const { h, t, agentId } = await useAgent({ worker: true, agent: { tools: ["memory"], clientTools: [locate] } });

const once = '[[sim: tool=locate args={"precise":true} ; text="You are in Lisbon."]]';
const twice = '[[sim: tool=locate args={} tool=locate args={"precise":false} ; text="Both known."]]';

/** A session whose first turn has stopped at calls of client tools; returns its path and the stream of its response. */
async function call(script: string, agent: string = agentId): Promise<{ path: string; first: ApiResponse }> {
  const first = await t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(script) } });
  expect(first.status).toBe(201);
  return { path: first.headers.get("location") ?? "", first };
}

const callsOf = async (path: string) => (await t.call("GET", `${path}/tool-calls`)).body;
const settle = (path: string, id: string, body: object = { output: { city: "Lisbon" } }) =>
  t.call("POST", `${path}/tool-calls/${id}`, { body });
const join = (path: string, continuationId: string) =>
  t.call("GET", `${path}/tool-approval-continuations/${continuationId}`);
const messagesOf = async (path: string) => (await t.call("GET", `${path}/messages`)).body.data;
const statusOf = (response: ApiResponse) => [response.status, response.body.error?.code];

/** The names of the tools that the model was offered last. */
function offered(): string[] {
  const { tools = [] } = (h.model.requests().at(-1)?.body ?? {}) as { tools?: { function: { name: string } }[] };
  return tools.map((known) => known.function.name);
}

describe("a call of a client tool", () => {
  test("streams, keeps the session busy, and its result is what the turn goes on with", async () => {
    const { path, first } = await call(once);
    const chunks = chunksOf(first.body);
    const asked = chunks.find((chunk) => chunk.type === "tool-input-available");
    expect(asked).toMatchObject({ toolName: "locate", input: { precise: true } });
    expect(asked).not.toHaveProperty("providerExecuted");
    expect(chunks.at(-1)?.type).toBe("finish");
    const { toolCalls, continuation } = await callsOf(path);
    expect(toolCalls).toEqual([
      {
        toolCallId: asked?.toolCallId,
        tool: "locate",
        input: { precise: true },
        turnId: first.headers.get("x-turn-id"),
        assistantMessageId: expect.stringMatching(/^msg_/),
        status: "pending",
        createdAt: expect.any(String),
      },
    ]);
    expect(continuation.status).toBe("waiting");
    expect(statusOf(await t.call("POST", path, { body: { message: userMessage("hi") } }))).toEqual([
      409,
      "session_busy",
    ]);
    expect((await messagesOf(path))[1].parts.at(-1)).toMatchObject({ type: "tool-locate", state: "input-available" });

    h.model.clear();
    const settled = await settle(path, toolCalls[0].toolCallId);
    expect(settled.status).toBe(202);
    expect(settled.body).toMatchObject({ toolCall: { status: "done" }, continuation: { status: "queued" } });
    const joined = chunksOf((await join(path, continuation.id)).body);
    expect(joined.slice(0, 2)).toEqual([
      { type: "start", messageId: toolCalls[0].assistantMessageId },
      { type: "tool-output-available", toolCallId: toolCalls[0].toolCallId, output: { city: "Lisbon" } },
    ]);
    expect(joined.at(-1)?.type).toBe("finish");
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("Lisbon");
    const [, answer, ...more] = await messagesOf(path);
    expect(more).toEqual([]);
    expect(answer.parts.map((part: { type: string; state?: string }) => [part.type, part.state])).toEqual([
      ["step-start", undefined],
      ["tool-locate", "output-available"],
      ["step-start", undefined],
      ["text", "done"],
    ]);
    expect(statusOf(await settle(path, toolCalls[0].toolCallId))).toEqual([409, "tool_call_settled"]);
    expect((await callsOf(path)).toolCalls[0].status).toBe("done");
  });

  test("may end with an error, which the model is told", async () => {
    const { path } = await call(once);
    const { toolCalls, continuation } = await callsOf(path);
    h.model.clear();
    const settled = await settle(path, toolCalls[0].toolCallId, { errorText: "No permission." });
    expect(settled.body.toolCall.status).toBe("failed");
    await join(path, continuation.id);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("No permission.");
    expect((await messagesOf(path))[1].parts[1]).toMatchObject({ state: "output-error", errorText: "No permission." });
  });

  test("two at once: the last result goes on, once, whatever comes at the same time", async () => {
    const { path } = await call(twice);
    const { toolCalls, continuation } = await callsOf(path);
    expect(toolCalls).toHaveLength(2);
    const ids = toolCalls.map(({ toolCallId }: { toolCallId: string }) => toolCallId);
    const all = await Promise.all([...ids, ...ids, ...ids].map((id) => settle(path, id)));
    expect(all.filter(({ status }) => status === 202)).toHaveLength(2);
    expect(all.filter(({ body }) => body.continuation?.status === "queued")).toHaveLength(1);
    const joined = chunksOf((await join(path, continuation.id)).body);
    expect(joined.at(-1)?.type).toBe("finish");
    expect((await messagesOf(path))[1].parts.at(-1).text).toBe("Both known.");
    const [row] = await h.sql`select count(*)::int as rows from continuations where id = ${continuation.id}`;
    expect(row?.rows).toBe(1);
  });

  test("takes 256 KiB of output and 4,096 characters of error, and not more", async () => {
    const { path } = await call(twice);
    const { toolCalls, continuation } = await callsOf(path);
    const [one, two] = toolCalls.map(({ toolCallId }: { toolCallId: string }) => toolCallId);
    const output = (bytes: number) => "é".repeat((bytes - 2) / 2);
    const faults: [object, string][] = [
      [{ output: output(256 * 1024 + 2) }, "/output"],
      [{ errorText: "x".repeat(4_097) }, "/errorText"],
      [{ errorText: 1 }, "/errorText"],
      [{}, "/output"],
      [{ output: 1, errorText: "x" }, "/errorText"],
      [{ output: 1, more: 1 }, "/more"],
    ];
    for (const [body, field] of faults) {
      const refused = await settle(path, one, body);
      expect([refused.status, refused.body.error.details.issues[0].path]).toEqual([400, field]);
    }
    expect((await settle(path, one, { output: output(256 * 1024) })).status).toBe(202);
    expect((await settle(path, two, { errorText: "é".repeat(4_096) })).status).toBe(202);
    expect(chunksOf((await join(path, continuation.id)).body).at(-1)?.type).toBe("finish");
  });

  test("null, false and zero are outputs", async () => {
    for (const output of [null, false, 0, ""]) {
      const { path } = await call(once);
      const { toolCalls, continuation } = await callsOf(path);
      expect((await settle(path, toolCalls[0].toolCallId, { output })).status).toBe(202);
      expect(chunksOf((await join(path, continuation.id)).body).at(-1)?.type).toBe("finish");
      expect((await messagesOf(path))[1].parts[1]).toMatchObject({ state: "output-available", output });
    }
  });

  test("404 not_found: to anyone else", async () => {
    const { path } = await call(once);
    const { toolCalls } = await callsOf(path);
    const id = toolCalls[0].toolCallId;
    const other = await h.tenant();
    expect((await other.call("GET", `${path}/tool-calls`)).status).toBe(404);
    expect((await other.call("POST", `${path}/tool-calls/${id}`, { body: { output: 1 } })).status).toBe(404);
    const elsewhere = await call(once);
    expect(statusOf(await settle(elsewhere.path, "call_unknown"))).toEqual([404, "not_found"]);
    expect((await callsOf(path)).toolCalls[0].status).toBe("pending");
  });

  test("an Idempotency-Key gives the same answer again", async () => {
    const { path } = await call(once);
    const { toolCalls } = await callsOf(path);
    const request = { body: { output: 1 }, headers: { "idempotency-key": crypto.randomUUID() } };
    const first = await t.call("POST", `${path}/tool-calls/${toolCalls[0].toolCallId}`, request);
    const again = await t.call("POST", `${path}/tool-calls/${toolCalls[0].toolCallId}`, request);
    expect([again.status, again.body]).toEqual([202, first.body]);
  });

  test("of an input that does not fit is told to the model, and waits for nobody", async () => {
    for (const args of ['{"precise":"yes"}', '{"other":1}', "[1]"]) {
      const { path, first } = await call(`[[sim: tool=locate args=${args} ; text="I see."]]`);
      const chunks = chunksOf(first.body);
      expect(chunks.find((chunk) => chunk.type === "tool-input-error")?.errorText).toContain("not valid");
      expect((await callsOf(path)).toolCalls).toEqual([]);
      expect((await messagesOf(path))[1].parts.at(-1).text).toBe("I see.");
    }
  });

  test("cancel ends what waits; a result at the same time wins or is told", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { path } = await call(once);
      const { toolCalls } = await callsOf(path);
      const id = toolCalls[0].toolCallId;
      const [canceled, settled] = await Promise.all([t.call("POST", `${path}/cancel`, { body: {} }), settle(path, id)]);
      // The turn may have ended with the result before the cancellation came.
      const both = [canceled.status, settled.status];
      expect([
        [202, 202],
        [202, 409],
        [409, 202],
      ]).toContainEqual(both);
      const ended = canceled.status === 202 ? "canceled" : "succeeded";
      await eventually(async () => {
        const [row] = await h.sql`select status from turns where id = ${toolCalls[0].turnId}`;
        return row?.status === ended;
      });
      expect(statusOf(await settle(path, id))).toEqual([409, "tool_call_settled"]);
      expect((await callsOf(path)).toolCalls[0].status).toBe(settled.status === 202 ? "done" : "failed");
      expect((await t.call("POST", path, { body: { message: userMessage("hi"), stream: false } })).status).toBe(200);
    }
  });
});

describe("policies and client tools", () => {
  const asking = (mode: "manual" | "auto" | "deny") =>
    makeAgent(h, t, {
      clientTools: [locate],
      approvalInChat: { default: "full", overrides: [{ tool: "locate", mcpConnectionId: null, mode }] },
    });

  test("manual and auto ask first, and the call is pending once it is approved", async () => {
    for (const mode of ["manual", "auto"] as const) {
      const { path } = await call(once, await asking(mode));
      expect((await callsOf(path)).toolCalls).toEqual([]);
      const { approvals, continuation } = (await t.call("GET", `${path}/tool-approvals`)).body;
      expect(statusOf(await settle(path, approvals[0].toolCallId))).toEqual([404, "not_found"]);
      await t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: true } });
      const shown = chunksOf((await join(path, continuation.id)).body);
      expect(shown.map(({ type }) => type)).toEqual(["start", "tool-input-available", "finish"]);
      const pending = await callsOf(path);
      expect(pending.toolCalls[0]).toMatchObject({ toolCallId: approvals[0].toolCallId, status: "pending" });
      expect(pending.continuation).toMatchObject({ status: "waiting" });
      await settle(path, approvals[0].toolCallId);
      await join(path, pending.continuation.id);
      const answer = (await messagesOf(path))[1];
      expect(answer.parts[1]).toMatchObject({ state: "output-available", approval: { approved: true } });
      expect(answer.parts.at(-1).text).toBe("You are in Lisbon.");
    }
  });

  test("a denied call takes no result", async () => {
    const { path } = await call(once, await asking("manual"));
    const { approvals, continuation } = (await t.call("GET", `${path}/tool-approvals`)).body;
    await t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: false } });
    await join(path, continuation.id);
    expect((await settle(path, approvals[0].toolCallId)).status).toBe(404);
    expect((await messagesOf(path))[1].parts.at(-1).text).toBe("You are in Lisbon.");
    const denied = await call(once, await asking("deny"));
    expect((await callsOf(denied.path)).toolCalls).toEqual([]);
  });

  test("a decision and a result at once: one continuation, and it goes on with both", async () => {
    const agent = await makeAgent(h, t, {
      tools: ["memory"],
      clientTools: [locate],
      approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" }] },
    });
    const script = '[[sim: tool=memory_save args={"text":"tea"} tool=locate args={} ; text="Both done."]]';
    for (let round = 0; round < 3; round += 1) {
      const { path } = await call(script, agent);
      const { approvals, continuation } = (await t.call("GET", `${path}/tool-approvals`)).body;
      const { toolCalls } = await callsOf(path);
      const [decided, settled] = await Promise.all([
        t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: true } }),
        settle(path, toolCalls[0].toolCallId),
      ]);
      const states = [decided.body.continuation.status, settled.body.continuation.status].sort();
      expect(states).toEqual(["queued", "waiting"]);
      await join(path, continuation.id);
      const parts = (await messagesOf(path))[1].parts;
      expect(parts.at(-1).text).toBe("Both done.");
      expect(parts.slice(1, 3).map(({ state }: { state: string }) => state)).toEqual([
        "output-available",
        "output-available",
      ]);
    }
  });
});

describe("a pause that the caller does not end", () => {
  test("409 tool_call_settled: a late result; the calls end as expired, and the model is told", async () => {
    const { path } = await call(twice);
    const { toolCalls, continuation } = await callsOf(path);
    await settle(path, toolCalls[0].toolCallId);
    await h.sql`
      update client_calls set created_at = created_at - interval '169 hours' where session_id = ${path.split("/").at(-1) ?? ""}`;
    await h.sql`select graphile_worker.add_job('pauses.sweep', max_attempts => 1)`;
    await eventually(async () => (await callsOf(path)).continuation.status === "succeeded");
    expect((await callsOf(path)).toolCalls.map(({ status }: { status: string }) => status)).toEqual(["done", "failed"]);
    expect((await messagesOf(path))[1].parts[2]).toMatchObject({ state: "output-error", errorText: "expired" });
    expect(chunksOf((await join(path, continuation.id)).body).at(-1)?.type).toBe("finish");
    expect(statusOf(await settle(path, toolCalls[1].toolCallId))).toEqual([409, "tool_call_settled"]);
  });

  test("is erased with its session", async () => {
    const { path } = await call(once);
    await t.call("POST", `${path}/cancel`, { body: {} });
    expect((await t.call("DELETE", `${path}?deleteArtifacts=false`)).status).toBe(204);
    await eventually(async () => {
      const rows = await h.sql`select 1 from client_calls where session_id = ${path.split("/").at(-1) ?? ""}`;
      return rows.length === 0;
    });
  });
});

describe("where client tools are offered", () => {
  test("not in generate, nor in a task's run", async () => {
    h.model.clear();
    const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, {
      body: { messages: [userMessage("hello there")], stream: false },
    });
    expect(generated.status).toBe(200);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).not.toContain('"locate"');
    const { task } = await t.parley.tasks.create({ agentId, name: "run", prompt: "hello task" });
    h.model.clear();
    await t.parley.taskRuns.start(task.id);
    await eventually(() => h.model.requests().length > 0);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).not.toContain('"locate"');
  });

  test("an MCP tool that gets the name of one later has another name for the model", async () => {
    const mcp = new McpServer();
    mcp.settings.tools = [textTool("echo")];
    const connection = { name: "srv", url: mcp.url, authType: "none" };
    const made = await t.call("POST", "/v1/mcp-connections", { body: connection });
    const clientTools = [{ ...locate, name: "srv__later" }];
    const agent = await makeAgent(h, t, { clientTools, mcpConnectionIds: [made.body.id] });
    mcp.settings.tools = [textTool("echo"), textTool("later")];
    // A rule on a tool that is not known has the server's tools listed anew.
    const overrides = [{ tool: "later", mcpConnectionId: made.body.id, mode: "full" as const }];
    await t.parley.agents.update(agent, { approvalInChat: { default: "full", overrides } });
    await t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage("hello"), stream: false } });
    const names = offered();
    expect(new Set(names).size).toBe(3);
    expect(names).toContain("srv__later");
    expect(names.filter((name) => name.startsWith("srv__later_"))).toHaveLength(1);
    await mcp.stop();
  });

  test("an agent's edit while a call waits changes nothing for that turn", async () => {
    const agent = await makeAgent(h, t, { clientTools: [locate] });
    const { path } = await call(once, agent);
    expect((await t.call("PUT", `/v1/agents/${agent}`, { body: { clientTools: [] } })).status).toBe(200);
    const { toolCalls, continuation } = await callsOf(path);
    h.model.clear();
    expect((await settle(path, toolCalls[0].toolCallId)).status).toBe(202);
    expect(chunksOf((await join(path, continuation.id)).body).at(-1)?.type).toBe("finish");
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain('"locate"');
    expect((await messagesOf(path))[1].parts[1].state).toBe("output-available");
  });
});
