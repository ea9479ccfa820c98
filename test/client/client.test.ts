import { describe, expect, test } from "bun:test";
import { type ErrorResponse, Parley, ParleyError, TurnStream } from "parley/client";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";

const { h, t } = await useTenant({ worker: true });
const parley = new Parley({ baseUrl: "http://parley.test", apiKey: t.token, fetch: (request) => h.app(request) });

const provider = await parley.providers.create({
  name: "Simulated",
  providerType: "custom",
  baseUrl: h.model.url,
  apiKey: "any",
});
const agent = await parley.agents.create({
  name: "Support",
  model: "sim-1",
  providerId: provider.id,
  tools: ["memory"],
  approvalInChat: { default: "manual" },
});
const says = (text: string) => ({
  message: { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text" as const, text }] },
});
const asks = '[[sim: tool=memory_save args={"text":"likes tea"} ; text="All done."]]';

describe("the typed client", () => {
  test("reads what it wrote, in form B whatever the tenant's default is", async () => {
    expect(await parley.agents.get(agent.id)).toEqual(agent);
    const renamed = await parley.agents.update(agent.id, { name: "Help" });
    expect([renamed.name, renamed.version]).toEqual(["Help", 2]);
    const inA = await h.tenant({ form: "a" });
    const other = new Parley({ baseUrl: "http://parley.test/", apiKey: () => inA.token, fetch: (r) => h.app(r) });
    expect(await other.workspaces.list()).toEqual({ data: [], nextCursor: null });
  });

  test("streams a turn chunk by chunk, and says which session and turn it is", async () => {
    const turn = await parley.sessions.create(agent.id, says('[[sim: text="Half past nine."]]'));
    expect(turn).toBeInstanceOf(TurnStream);
    const types: string[] = [];
    let text = "";
    for await (const chunk of turn) {
      types.push(chunk.type);
      if (chunk.type === "text-delta") text += chunk.delta;
    }
    expect(text).toBe("Half past nine.");
    expect([types[0], types.at(-1)]).toEqual(["start", "finish"]);
    expect(turn.turnId).toStartWith("turn_");
    const page = await parley.sessions.listMessages(agent.id, turn.sessionId ?? "");
    expect(page.data.map(({ role }) => role).sort()).toEqual(["assistant", "user"]);
  });

  test("waits for a turn that is not streamed, and joins nothing when none runs", async () => {
    const { message } = await parley.sessions.create(agent.id, { ...says('[[sim: text="Yes."]]'), stream: false });
    expect(message.parts).toContainEqual(expect.objectContaining({ type: "text", text: "Yes." }));
    const [session] = (await parley.sessions.list(agent.id, { limit: 1 })).data;
    expect(await parley.sessions.join(agent.id, session?.id ?? "")).toBeNull();
  });

  test("decides a tool call, and follows the turn that goes on", async () => {
    const turn = await parley.sessions.create(agent.id, says(asks));
    const sessionId = turn.sessionId ?? "";
    for await (const _chunk of turn);
    const { approvals } = await parley.toolApprovals.list(agent.id, sessionId);
    const decision = await parley.toolApprovals.decide(agent.id, sessionId, approvals[0]?.id ?? "", { approved: true });
    expect(decision.approval.status).toBe("approved");
    const going = await parley.toolApprovals.joinContinuation(agent.id, sessionId, decision.continuation.id);
    let text = "";
    for await (const piece of going.texts()) text += piece;
    expect(text).toBe("All done.");
    const { data } = await parley.memories.list(agent.id);
    expect(data.map((memory) => memory.text)).toEqual(["likes tea"]);
  });

  test("lists all rows over all pages", async () => {
    const own = await parley.agents.create({ name: "Notes" });
    for (const text of ["one", "two", "three"]) await parley.memories.create(own.id, { text });
    const texts: string[] = [];
    for await (const memory of parley.memories.listAll(own.id, { limit: 1 })) texts.push(memory.text);
    expect(texts.sort()).toEqual(["one", "three", "two"]);
  });

  test("sends and reads files", async () => {
    const { id } = await parley.workspaces.create({ name: "Reports" });
    await parley.workspaces.writeFile(id, "a report", { path: "march.md" });
    expect((await parley.workspaces.getFiles(id)).files).toEqual([{ path: "march.md", sizeBytes: 8 }]);
    expect(new TextDecoder().decode(await parley.workspaces.getFiles(id, { path: "march.md" }))).toBe("a report");
  });

  test("throws an error with its code, status, request id and details", async () => {
    const error = await parley.agents.create({ name: "" }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ParleyError);
    expect(error).toMatchObject({ code: "validation_failed", status: 400, requestId: expect.stringMatching(/^req_/) });
    const { details }: { details?: ErrorResponse["error"]["details"] } = error;
    expect(details?.issues?.[0]?.path).toBe("/name");
    const fields: ErrorResponse["error"] = { code: "teapot", message: "Short and stout.", requestId: "req_1" };
    expect(new ParleyError(new Response(null, { status: 418 }), fields).requestId).toBe("req_1");
    const failed = new Response(null, { status: 502, headers: { "x-turn-id": "turn_1" } });
    expect(new ParleyError(failed, fields).turnId).toBe("turn_1");
  });

  test("ends a call with its signal, and repeats one under its key", async () => {
    const stop = new AbortController();
    const turn = await parley.sessions.create(agent.id, says('[[sim: text="Long." delay=50]]'), {
      signal: stop.signal,
    });
    stop.abort();
    // Over HTTP the aborted body rejects; in the tests' own process it can still be cancelled.
    await turn.response.body?.cancel().catch((error) => expect(error).toHaveProperty("name", "AbortError"));
    const key = { idempotencyKey: crypto.randomUUID() };
    const first = await parley.prompts.create({ name: "Hi", template: "Hi {{name}}" }, key);
    expect(await parley.prompts.create({ name: "Hi", template: "Hi {{name}}" }, key)).toEqual(first);
    await eventually(async () => (await parley.prompts.list()).prompts.length === 1);
  });
});
