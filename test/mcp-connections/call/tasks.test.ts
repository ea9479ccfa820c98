import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { directFetch } from "../../../src/kernel/outbound/fetch.ts";
import { fixedAuthorization } from "../../../src/mcp-connections/auth/authorization.ts";
import { type CallLimits, ServerCall } from "../../../src/mcp-connections/call/call.ts";
import { McpSession, SessionLostError } from "../../../src/mcp-connections/call/session.ts";
import type { ToolProgress } from "../../../src/messages/tool-progress.ts";
import { eventually } from "../../harness/eventually.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent } from "../../harness/seed.ts";
import { play, script } from "../../harness/turns.ts";
import { McpServer, textResult, textTool } from "../../servers/mcp.ts";
import { type StatelessMcpServer, type StatelessMessage, startStatelessMcp } from "../../servers/stateless-mcp.ts";
import { TaskMcpServer } from "../../servers/task-mcp.ts";

const { h, t } = await useTenant({ worker: true });

const open = (url: string) =>
  McpSession.open(
    { url, send: directFetch, authorization: fixedAuthorization(null), protocolVersion: null },
    AbortSignal.timeout(5_000),
  );

/** A call of a session's first tool, and what is reported of it. */
async function callOn(session: McpSession, signal?: AbortSignal, limits?: CallLimits) {
  const [tool] = await session.tools();
  if (tool === undefined) throw new Error("The server has no tool.");
  const reports: ToolProgress[] = [];
  const onProgress = (progress: ToolProgress) => void reports.push(progress);
  const call = new ServerCall({ tool, args: {}, meta: {}, signal, onProgress }, limits);
  return { call, reports };
}

const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (error: Error) => ({ error }),
  );

describe("a tool that only runs as a task (2025-11-25)", () => {
  let server: TaskMcpServer;
  let session: McpSession;
  beforeEach(async () => {
    server = new TaskMcpServer();
    session = await open(server.url);
  });
  afterEach(async () => {
    await session.close();
    await server.stop();
  });
  const begun = () => eventually(() => server.tasks[0]);

  test("is run as one: asked for until it has ended, what it says of itself is progress, its result is the call's", async () => {
    const { call, reports } = await callOn(session);
    const running = call.runOn(session);
    const task = await begun();
    await task.says("Gathering");
    await eventually(() => reports.length === 1);
    await task.says("Writing");
    await eventually(() => reports.length === 2);
    await task.done({ content: [{ type: "text", text: "The report." }] });
    expect((await running).content).toEqual([{ type: "text", text: "The report." }]);
    expect(reports).toEqual([
      { progress: 1, total: null, message: "Gathering" },
      { progress: 2, total: null, message: "Writing" },
    ]);
    expect([server.count("tools/call"), server.count("tasks/result"), server.count("tasks/cancel")]).toEqual([1, 1, 0]);
  });

  test("that fails gives the failure's result", async () => {
    const { call } = await callOn(session);
    const running = call.runOn(session);
    await (await begun()).fail("No sources.");
    expect(await running).toMatchObject({ isError: true, content: [{ text: "No sources." }] });
  });

  test("is cancelled with its turn", async () => {
    const stop = new AbortController();
    const { call } = await callOn(session, stop.signal);
    const running = outcomeOf(call.runOn(session));
    const { taskId } = await begun();
    await eventually(() => server.count("tasks/get") > 0);
    stop.abort(new Error("stopped"));
    expect(await running).toHaveProperty("error");
    expect([server.count("tasks/cancel"), await server.statusOf(taskId)]).toEqual([1, "cancelled"]);
  });

  test("is cancelled when it lasts too long", async () => {
    const { call } = await callOn(session, undefined, { silenceMs: 60_000, msMax: 3_000 });
    const running = outcomeOf(call.runOn(session));
    const { taskId } = await begun();
    expect(await running).toMatchObject({ error: { message: "Request timed out" } });
    expect(await server.statusOf(taskId)).toBe("cancelled");
  });

  test("that its server cancels is told as that", async () => {
    const { call } = await callOn(session);
    const running = outcomeOf(call.runOn(session));
    const { taskId } = await begun();
    await session.request("tasks/cancel", { taskId }, {});
    expect(await running).toMatchObject({ error: { message: "The MCP server cancelled the task of this call." } });
  });

  test("survives a server that is out of reach for a moment", async () => {
    const { call } = await callOn(session);
    server.breaks = { method: "tasks/get", times: 2 };
    const running = call.runOn(session);
    const task = await begun();
    await eventually(() => server.breaks?.times === 0);
    await task.done({ content: [{ type: "text", text: "There." }] });
    expect((await running).content).toEqual([{ type: "text", text: "There." }]);
  });

  test("goes on in another session when its own is lost, and is not begun again", async () => {
    const { call } = await callOn(session);
    const running = outcomeOf(call.runOn(session));
    const task = await begun();
    // The caller knows of the task by then.
    await eventually(() => server.count("tasks/get") > 0);
    server.forgetSessions();
    expect(await running).toMatchObject({ error: expect.any(SessionLostError) });
    const second = await open(server.url);
    const again = call.runOn(second);
    await task.done({ content: [{ type: "text", text: "Still here." }] });
    expect((await again).content).toEqual([{ type: "text", text: "Still here." }]);
    expect(server.tasks).toHaveLength(1);
    await second.close();
  });

  test("is offered to a turn like any other, and shows its progress in the stream alone", async () => {
    const made = await t.call("POST", "/v1/mcp-connections", {
      body: { name: "tasks", url: server.url, authType: "none" },
    });
    const agentId = await makeAgent(h, t, {
      mcpConnectionIds: [made.body.id],
      approvalInChat: { default: "full", overrides: [] },
    });
    const playing = play(t, agentId, null, { message: script('tool=tasks__research; text="Done."') });
    const task = await begun();
    await task.says("Gathering");
    const asked = server.count("tasks/get");
    await eventually(() => server.count("tasks/get") > asked + 1);
    await task.done({ content: [{ type: "text", text: "The report." }] });
    const { chunks, sessionId } = await playing;
    expect(chunks.find(({ type }) => type === "data-tool-progress")).toMatchObject({
      data: { progress: 1, total: null, message: "Gathering" },
      transient: true,
    });
    expect(chunks.find(({ type }) => type === "tool-output-available")?.output).toBe("The report.");
    const stored = (await t.call("GET", `/v1/agents/${agentId}/sessions/${sessionId}/messages`)).body.data;
    expect(JSON.stringify(stored)).not.toContain("Gathering");
  });
});

describe("a call that its server answers with a task (2026-07-28)", () => {
  let server: StatelessMcpServer;
  let states: object[];
  let seen: StatelessMessage[];
  const base = { taskId: "task-1", createdAt: "now", lastUpdatedAt: "now", ttlMs: null, pollIntervalMs: 200 };
  const complete = (fields: object) => ({ result: { resultType: "complete", ...fields } });
  beforeEach(() => {
    server = startStatelessMcp();
    states = [];
    seen = [];
    server.intercept = (message) => {
      if (!/^t(ools\/call|asks\/)/.test(message.method)) return null;
      seen.push(message);
      if (message.method === "tools/call") return { result: { resultType: "task", ...base, status: "working" } };
      if (message.method !== "tasks/get") return complete({});
      const state = states.length > 1 ? states.shift() : states[0];
      return complete({ ...base, ...state });
    };
  });
  afterEach(() => server.stop());
  const sentOf = (method: string) => seen.filter((message) => message.method === method).map(({ params }) => params);

  async function run() {
    const session = await open(server.url);
    const { call, reports } = await callOn(session);
    const outcome = await outcomeOf(call.runOn(session));
    await session.close();
    return { outcome, reports };
  }

  test("is asked for until it has its result", async () => {
    states = [
      { status: "working", statusMessage: "Half" },
      { status: "completed", result: { content: [{ type: "text", text: "Whole" }] } },
    ];
    const { outcome, reports } = await run();
    expect(outcome).toMatchObject({ value: { content: [{ type: "text", text: "Whole" }] } });
    expect(reports).toEqual([{ progress: 1, total: null, message: "Half" }]);
    const [called] = sentOf("tools/call");
    expect(called?._meta?.["io.modelcontextprotocol/clientCapabilities"]).toEqual({
      extensions: { "io.modelcontextprotocol/tasks": {} },
    });
    expect(sentOf("tasks/get")).toMatchObject([{ taskId: "task-1" }, { taskId: "task-1" }]);
  });

  test("a question to a person is declined, once, and the task goes on", async () => {
    const asking = { status: "input_required", inputRequests: { who: { method: "elicitation/create", params: {} } } };
    states = [asking, asking, { status: "completed", result: { content: [] } }];
    expect((await run()).outcome).toMatchObject({ value: { content: [] } });
    expect(sentOf("tasks/update")).toMatchObject([{ inputResponses: { who: { action: "decline" } } }]);
  });

  test("a task that asks for something else is cancelled, and the model is told", async () => {
    const inputRequests = { say: { method: "sampling/createMessage", params: {} } };
    states = [{ status: "input_required", inputRequests }];
    expect((await run()).outcome).toMatchObject({
      error: { message: "The MCP server asks for something that this client does not do." },
    });
    expect(sentOf("tasks/cancel")).toMatchObject([{ taskId: "task-1" }]);
  });

  test("a failure has the server's words; a result that is none is no result", async () => {
    states = [{ status: "failed", error: { code: -32000, message: "Out of paper." } }];
    expect((await run()).outcome).toMatchObject({ error: { message: "Out of paper." } });
    states = [{ status: "completed", result: { content: "none" } }];
    expect((await run()).outcome).toMatchObject({ error: { code: "mcp_connection_discovery_failed" } });
    states = [{ status: "asleep" }];
    expect((await run()).outcome).toMatchObject({ error: { code: "mcp_connection_discovery_failed" } });
    expect(sentOf("tasks/cancel").length).toBeLessThanOrEqual(1);
  });
});

describe("progress", () => {
  let mcp: McpServer;
  beforeEach(() => {
    mcp = new McpServer();
    mcp.settings.tools = [textTool("work")];
  });
  afterEach(() => mcp.stop());
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test("is a sign of life: the time without one begins anew, the whole time does not", async () => {
    mcp.settings.onCall = async ({ report }) => {
      for (let step = 1; step <= 10; step++) {
        await pause(300);
        await report(step, 10, `Step ${step}`);
      }
      return textResult("Done.");
    };
    const session = await open(mcp.url);
    const patient = await callOn(session, undefined, { silenceMs: 2_000, msMax: 60_000 });
    expect((await patient.call.runOn(session)).content).toEqual([{ type: "text", text: "Done." }]);
    expect(patient.reports.at(-1)).toEqual({ progress: 10, total: 10, message: "Step 10" });
    const bounded = await callOn(session, undefined, { silenceMs: 2_000, msMax: 1_500 });
    expect(await outcomeOf(bounded.call.runOn(session))).toMatchObject({ error: { message: "Request timed out" } });
    mcp.settings.onCall = () => new Promise(() => {});
    const silent = await callOn(session, undefined, { silenceMs: 500, msMax: 60_000 });
    expect(await outcomeOf(silent.call.runOn(session))).toMatchObject({ error: { message: "Request timed out" } });
    await session.close();
  });

  test("is shown as a transient chunk, not more than five times a second, the newest one each time, and never stored", async () => {
    const reports = 400;
    mcp.settings.onCall = async ({ report }) => {
      for (let step = 1; step <= reports; step++) {
        await report(step, reports, `\u0000${"x".repeat(1_000)}`);
        await pause(2);
      }
      await pause(250);
      return textResult("Done.");
    };
    const made = await t.call("POST", "/v1/mcp-connections", { body: { name: "w", url: mcp.url, authType: "none" } });
    const agentId = await makeAgent(h, t, {
      mcpConnectionIds: [made.body.id],
      approvalInChat: { default: "full", overrides: [] },
    });
    for (const form of ["a", "b"] as const) {
      const begun = Date.now();
      const { chunks, sessionId } = await play(
        t,
        agentId,
        null,
        { message: script('tool=w__work; text="Done."') },
        { form },
      );
      const tookMs = Date.now() - begun;
      const shown = chunks.filter(({ type }) => type === "data-tool-progress");
      const call = chunks.find(({ type }) => type === "tool-input-available");
      expect(shown.length).toBeGreaterThan(1);
      expect(shown.length).toBeLessThanOrEqual(tookMs / 200 + 2);
      for (const { data, transient } of shown)
        expect([data, transient]).toEqual([
          {
            toolCallId: call?.toolCallId,
            progress: expect.any(Number),
            total: reports,
            message: `\uFFFD${"x".repeat(511)}`,
          },
          true,
        ]);
      const numbers = shown.map(({ data }) => (data as ToolProgress).progress);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      const stored = await t.call("GET", `/v1/agents/${agentId}/sessions/${sessionId}/messages`);
      expect(JSON.stringify(stored.body)).not.toContain("data-tool-progress");
    }
  });
});
