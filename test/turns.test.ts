import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Harness, startHarness, type TestTenant } from "./harness.ts";
import { makeAgent, say, sseEvents } from "./seed.ts";

let h: Harness;
let t: TestTenant;
let agentId: string;
beforeAll(async () => {
  h = await startHarness({ worker: true });
  t = await h.tenant();
  agentId = await makeAgent(h, t);
});
afterAll(() => h.stop());

describe("POST /v1/agents/:agentId/sessions", () => {
  test("201: streams the UI message chunks, stores both messages, and meters the turn", async () => {
    const answer = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: say('[[sim: text="Hello there" chunks=2]]') } });
    expect(answer.status).toBe(201);
    const events = sseEvents(answer.body);
    const sessionId = answer.headers.get("location")!.split("/").at(-1);
    const messages = await t.call("GET", `/v1/agents/${agentId}/sessions/${sessionId}/messages`);
    const json = await t.call("POST", `/v1/agents/${agentId}/sessions/${sessionId}`, { body: { message: say("again"), stream: false } });
  });
});
