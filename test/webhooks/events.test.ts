import { describe, expect, test } from "bun:test";
import type { WebhookCreate } from "parley/client";
import { newId } from "../../src/kernel/ids.ts";
import { endTurnsOf } from "../../src/sessions/cancel/end-all.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { open, play, script, sessionPath } from "../harness/turns.ts";
import { useWebhooks } from "../harness/webhook-fixture.ts";
import { McpServer } from "../servers/mcp.ts";

const h = await useWebhooks();
const still = await useWebhooks({});

const hanging = 'text="one two" hangAfterChunks=1';
const asking = 'tool=memory_save args={"text":"a"} ; text="Saved."';
const locate = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" as const } };

/** A tenant with an agent that asks before it saves, and a webhook for these events. */
async function tenantWith(events: WebhookCreate["events"], on = h) {
  const t = await on.tenant();
  const agentId = await makeAgent(on, t, {
    tools: ["memory"],
    clientTools: [locate],
    approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mode: "manual" }] },
  });
  return { t, agentId, hook: await on.hook(t, events) };
}

describe("turn.ended", () => {
  test("a turn that succeeded, and one that failed; the body is thin", async () => {
    const { t, agentId, hook } = await tenantWith(["turn.ended"]);
    const good = await play(t, agentId, null, { message: script("text=hi") });
    const [first] = await h.told(t, hook, 1);
    const ids = { agentId, sessionId: good.sessionId };
    expect({ ...first }).toEqual({
      type: "turn.ended",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
      data: { ids: { turnId: good.turnId, ...ids }, status: "succeeded" },
    });
    const bad = await play(t, agentId, good.sessionId, { message: script("status=400") });
    const events = await h.told(t, hook, 2);
    expect(events.map(({ data }) => data)).toContainEqual({ ids: { turnId: bad.turnId, ...ids }, status: "failed" });
  });

  test("a stateless generation has no session", async () => {
    const { t, agentId, hook } = await tenantWith(["turn.ended"]);
    const body = { messages: [script("text=hi")], stream: false };
    const { headers } = await t.call("POST", `/v1/agents/${agentId}/generate`, { body });
    const [event] = await h.told(t, hook, 1);
    expect(event?.data.ids).toEqual({ turnId: headers.get("x-turn-id"), agentId, sessionId: null });
  });

  test("cancelled while it runs, with what waits in its line; while it waits for a person; all by the operator", async () => {
    const { t, agentId, hook } = await tenantWith(["turn.ended"]);
    const running = await open(h, t, "POST", sessionPath(agentId, null), { body: { message: script(hanging) } });
    await running.until("text-delta");
    const body = { message: script("text=later"), onBusy: "enqueue" };
    const enqueued = await open(h, t, "POST", sessionPath(agentId, running.sessionId), { body });
    await t.call("POST", sessionPath(agentId, running.sessionId, "/cancel"), { body: { queued: true } });
    await Promise.all([running.rest(), enqueued.rest()]);
    const waiting = await play(t, agentId, null, { message: script(asking) });
    await t.call("POST", sessionPath(agentId, waiting.sessionId, "/cancel"), { body: { keep: "partial" } });
    const other = await play(t, agentId, null, { message: script(asking) });
    await endTurnsOf(h.sql, t.id as `ten_${string}`, {});
    const events = await h.told(t, hook, 4);
    expect(new Map(events.map(({ data }) => [data.ids.turnId, data.status]))).toEqual(
      new Map([running, enqueued, waiting, other].map(({ turnId }) => [turnId, "canceled"])),
    );
  });

  test("cancelled while it is queued: the event is sent as soon as a worker is there", async () => {
    const { t, agentId, hook } = await tenantWith(["turn.ended"], still);
    const queued = await open(still, t, "POST", sessionPath(agentId, null), { body: { message: script("text=hi") } });
    await t.call("POST", sessionPath(agentId, queued.sessionId, "/cancel"));
    expect(await still.deliveries(t, hook)).toEqual([]);
    expect(still.receiver.asked(hook.path)).toEqual([]);
    const workers = await still.startWorkers();
    const [event] = await still.told(t, hook, 1);
    await workers.drain(5_000);
    expect(event?.data).toMatchObject({ ids: { turnId: queued.turnId }, status: "canceled" });
  });

  test("the reaper's ends: of a turn whose worker is lost, and of one that was cancelled while nobody had it", async () => {
    const { t, agentId, hook } = await tenantWith(["turn.ended"]);
    const [lost, canceled] = [newId("turn"), newId("turn")];
    const insert = (row: object) =>
      h.sql`insert into turns ${h.sql({
        tenant_id: t.id,
        agent_id: agentId,
        kind: "generate",
        agent_version: 1,
        assistant_message_id: newId("message"),
        ...row,
      } as never)}`;
    const claim = { worker_id: newId("worker"), attempt: 1, log_attempt: 1, claimed_at: new Date() };
    await insert({ id: lost, status: "running", ...claim, shown_at: new Date() });
    await insert({ id: canceled, status: "queued", cancel_requested_at: new Date() });
    const events = await h.told(t, hook, 2);
    expect(new Map(events.map(({ data }) => [data.ids.turnId, data.status]))).toEqual(
      new Map([
        [lost, "failed"],
        [canceled, "canceled"],
      ]),
    );
  });
});

describe("a turn that stops to ask", () => {
  test("approval.requested and tool_call.requested: one each for what it waits for, and the turn's end once", async () => {
    const { t, agentId, hook } = await tenantWith(["approval.requested", "tool_call.requested", "turn.ended"]);
    const calls = 'tool=memory_save args={"text":"a"} tool=locate args={} ; text="Both."';
    const { sessionId, turnId } = await play(t, agentId, null, { message: script(calls) });
    const { approvals, continuation } = await t.parley.toolApprovals.list(agentId, sessionId);
    const { toolCalls } = await t.parley.toolCalls.list(agentId, sessionId);
    const ids = { turnId, agentId, sessionId, continuationId: continuation?.id };
    const toolCallIdOf = (list: readonly { readonly toolCallId: string }[]) => list[0]?.toolCallId ?? "";
    const asked = await h.told(t, hook, 2);
    expect(new Map(asked.map(({ type, data }) => [type, data as object]))).toEqual(
      new Map<string, object>([
        [
          "approval.requested",
          { ids: { approvalId: approvals[0]?.id, toolCallId: toolCallIdOf(approvals), ...ids }, status: "pending" },
        ],
        ["tool_call.requested", { ids: { toolCallId: toolCallIdOf(toolCalls), ...ids }, status: "pending" }],
      ]),
    );
    await t.parley.toolApprovals.decide(agentId, sessionId, approvals[0]?.id ?? "", { approved: true });
    const path = sessionPath(agentId, sessionId, `/tool-calls/${toolCallIdOf(toolCalls)}`);
    expect((await t.call("POST", path, { body: { output: 1 } })).status).toBe(202);
    const all = await h.told(t, hook, 3);
    expect(all.at(-1)).toMatchObject({ type: "turn.ended", data: { ids: { turnId }, status: "succeeded" } });
  });
});

describe("run.ended", () => {
  const taskOf = async (t: Awaited<ReturnType<typeof h.tenant>>, agentId: string, prompt: string) =>
    (await t.parley.tasks.create({ agentId, name: "n", prompt })).task.id;

  test("succeeded and failed with its turn, blocked before it has one", async () => {
    const { t, agentId, hook } = await tenantWith(["run.ended"]);
    const taskId = await taskOf(t, agentId, "hello");
    const { runId } = await t.parley.taskRuns.start(taskId);
    const [first] = await h.told(t, hook, 1);
    const run = await t.parley.taskRuns.get(taskId, runId);
    const { sessionId, turnId } = run as { sessionId: string; turnId: string };
    expect(first?.data).toEqual({ ids: { runId, taskId, agentId, sessionId, turnId }, status: "succeeded" });
    const failing = await t.parley.taskRuns.start(await taskOf(t, agentId, "[[sim: status=400]]"));
    await h.told(t, hook, 2);
    await h.sql`update tenants set usage_credit = 0 where id = ${t.id}`;
    const blocked = await t.parley.taskRuns.start(taskId);
    const events = await h.told(t, hook, 3);
    expect(events.map(({ data }) => [data.ids.runId, data.status])).toEqual([
      [runId, "succeeded"],
      [failing.runId, "failed"],
      [blocked.runId, "blocked"],
    ]);
    expect(events.at(-1)?.data.ids).toMatchObject({ sessionId: null, turnId: null });
  });

  test("canceled while it is queued, and with its turn", async () => {
    const { t, agentId, hook } = await tenantWith(["run.ended"], still);
    const [queued, running] = [await taskOf(t, agentId, "hello"), await taskOf(t, agentId, `[[sim: ${hanging}]]`)];
    const first = await t.parley.taskRuns.start(queued);
    await t.parley.taskRuns.cancel(queued, first.runId);
    const workers = await still.startWorkers();
    const second = await t.parley.taskRuns.start(running);
    await eventually(async () => (await t.parley.taskRuns.get(running, second.runId)).status === "running");
    await t.parley.taskRuns.cancel(running, second.runId);
    const events = await still.told(t, hook, 2);
    await workers.drain(5_000);
    expect(new Map(events.map(({ data }) => [data.ids.runId, data.status]))).toEqual(
      new Map([first, second].map(({ runId }) => [runId, "canceled"])),
    );
  });
});

describe("mcp_connection.changed", () => {
  test("its status moves by a test and by reconnecting; a test that changes nothing is no event", async () => {
    const { t, hook } = await tenantWith(["mcp_connection.changed"]);
    const mcp = new McpServer();
    const { id } = await t.parley.mcpConnections.create({ name: "c", url: mcp.url, authType: "none" });
    await t.parley.mcpConnections.test(id);
    mcp.settings.intercept = () => new Response("later", { status: 503 });
    await t.parley.mcpConnections.test(id);
    await t.parley.mcpConnections.test(id);
    await h.told(t, hook, 1);
    mcp.settings.intercept = null;
    await t.parley.mcpConnections.reconnect(id, { url: mcp.url, authType: "none" });
    const events = await h.told(t, hook, 2);
    await mcp.stop();
    expect(events.map(({ data }) => data)).toEqual([
      { ids: { mcpConnectionId: id }, status: "error" },
      { ids: { mcpConnectionId: id }, status: "connected" },
    ]);
  });

  test("a turn that cannot reach it", async () => {
    const { t, hook } = await tenantWith(["mcp_connection.changed"]);
    const mcp = new McpServer();
    const { id } = await t.parley.mcpConnections.create({ name: "c", url: mcp.url, authType: "none" });
    const agentId = await makeAgent(h, t, { mcpConnectionIds: [id] });
    await mcp.stop();
    await play(t, agentId, null, { message: script("text=hi") });
    const [event] = await h.told(t, hook, 1);
    expect(event?.data).toEqual({ ids: { mcpConnectionId: id }, status: "error" });
  });
});

describe("who is told", () => {
  test("each webhook of the tenant that asked for the type, while it is enabled; nobody else", async () => {
    const { t, agentId, hook } = await tenantWith(["turn.ended"]);
    const second = await h.hook(t, ["turn.ended", "run.ended"]);
    const others = [await h.hook(t, ["run.ended"]), await h.hook(t, ["turn.ended"], { enabled: false })];
    const stranger = await tenantWith(["turn.ended"]);
    await play(t, agentId, null, { message: script("text=hi") });
    const [first, same] = [await h.received(hook, 1), await h.received(second, 1)];
    expect(first[0]?.event).toEqual(same[0]?.event as never);
    expect(first[0]?.id).not.toBe(same[0]?.id);
    for (const other of others) expect(await h.deliveries(t, other)).toEqual([]);
    expect(await h.deliveries(stranger.t, stranger.hook)).toEqual([]);
  });
});
