import { describe, expect, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { chunksOf, makeAgent, sseEvents, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { conversationOf, open, requestsOf, script, sessionPath, textOf, usageOf } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { instructions: "Be brief." } });

const generate = (body: unknown, form: "a" | "b" = "b", headers: Record<string, string> = {}) =>
  t.call("POST", `/v1/agents/${agentId}/generate`, { body, form, headers });
const assistant = (text: string) => ({ role: "assistant", parts: [{ type: "step-start" }, { type: "text", text }] });

for (const form of ["a", "b"] as const) {
  describe(`POST /v1/agents/:agentId/generate, form ${form}`, () => {
    test("200 streams by default, without a session, a Location or a trace in the lists", async () => {
      const response = await generate(
        { messages: [script('text="Hello there"')], userId: "gen", metadata: { a: 1 } },
        form,
      );
      expect([response.status, response.headers.get("location")]).toEqual([200, null]);
      expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      const turnId = response.headers.get("x-turn-id") ?? "";
      expect(turnId).toMatch(/^turn_/);
      expect(textOf(chunksOf(response.body))).toBe("Hello there");
      expect(sseEvents(response.body).at(-1)?.data).toBe("[DONE]");
      expect(await usageOf(h, turnId)).toMatchObject({ sessionId: "", userId: "gen" });
      const stateless = await t.call("GET", "/v1/usage?sessionId=&userId=gen");
      expect(stateless.body.totals.requestCount).toBeGreaterThan(0);
      expect((await t.call("GET", sessionPath(agentId, null))).body.data).toEqual([]);
    });

    test("200 with stream false returns the message; the model gets the whole conversation", async () => {
      const message = script('text="Third"');
      const response = await generate(
        { messages: [userMessage("first"), assistant("second"), message], stream: false, version: 1 },
        form,
      );
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        message: {
          id: expect.stringMatching(/^msg_/),
          role: "assistant",
          parts: [{ type: "step-start" }, { type: "text", text: "Third", state: "done" }],
          metadata: { finishReason: "stop" },
        },
        finishReason: "stop",
      });
      expect(conversationOf(h, message).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    });

    test("400 validation_failed (A: invalid_request): what is no conversation", async () => {
      const name = form === "a" ? "invalid_request" : "validation_failed";
      const cases: [unknown, string][] = [
        [{}, "/messages"],
        [{ messages: [] }, "/messages"],
        [{ messages: [userMessage("x"), assistant("y")] }, "/messages/1/role"],
        [{ messages: [{ role: "system", parts: [{ type: "text", text: "x" }] }] }, "/messages/0/role"],
        [{ messages: [{ ...userMessage("x"), parts: [] }] }, "/messages/0/parts"],
        [
          { messages: [{ ...userMessage("x"), parts: [{ type: "reasoning", text: "x" }] }] },
          "/messages/0/parts/0/type",
        ],
        [{ messages: [{ role: "assistant", parts: [7] }, userMessage("x")] }, "/messages/0/parts/0"],
        [
          { messages: [{ role: "assistant", parts: [{ type: "text" }] }, userMessage("x")] },
          "/messages/0/parts/0/text",
        ],
        [{ messages: [userMessage("x")], trigger: "submit-message" }, "/trigger"],
        [{ messages: [userMessage("x")], version: 0 }, "/version"],
        [{ messages: [userMessage("x")], stream: 1 }, "/stream"],
        [{ messages: [userMessage("x\0")] }, "/messages/0/parts/0/text"],
        [{ message: userMessage("x") }, "/message"],
      ];
      for (const [body, path] of cases) {
        const response = await generate(body, form);
        const issues: { path: string }[] = response.body.error.details.issues;
        expect([...statusAndCode(response), issues.some((issue) => issue.path === path)]).toEqual([400, name, true]);
      }
    });

    test("404 not_found, agent_version_not_found, 409 agent_disabled: as for a session's turn", async () => {
      const post = (id: string, body: object) => t.call("POST", `/v1/agents/${id}/generate`, { body, form });
      expect(statusAndCode(await post(newId("agent"), { messages: [userMessage("x")] }))).toEqual([404, "not_found"]);
      expect(statusAndCode(await post(agentId, { messages: [userMessage("x")], version: 9 }))).toEqual([
        404,
        form === "a" ? "AGENT_VERSION_NOT_FOUND" : "agent_version_not_found",
      ]);
      const off = await makeAgent(h, t);
      await t.call("POST", `/v1/agents/${off}/disable`);
      expect(statusAndCode(await post(off, { messages: [userMessage("x")] }))).toEqual([
        409,
        form === "a" ? "AGENT_DISABLED" : "agent_disabled",
      ]);
    });

    test("502 provider_error: the model fails, or an error chunk; metered both times", async () => {
      const waited = await generate({ messages: [script("fail=401")], stream: false }, form);
      expect(statusAndCode(waited)).toEqual([502, "provider_error"]);
      const streamed = await generate({ messages: [script("fail=401")] }, form);
      expect([streamed.status, chunksOf(streamed.body).at(-1)?.type]).toEqual([200, "error"]);
      for (const { headers } of [waited, streamed])
        expect(await usageOf(h, headers.get("x-turn-id") ?? "")).toMatchObject({ sessionId: "" });
    });

    test("an Idempotency-Key runs it once", async () => {
      const headers = { "idempotency-key": crypto.randomUUID() };
      const body = { messages: [script(`text="${headers["idempotency-key"]}"`)], stream: false };
      const responses = await Promise.all(Array.from({ length: 5 }, () => generate(body, form, headers)));
      responses.push(await generate(body, form, headers));
      expect(new Set(responses.map((response) => JSON.stringify([response.status, response.body]))).size).toBe(1);
      expect(requestsOf(h, body.messages[0] as never)).toHaveLength(1);
    });
  });
}

describe("stateless generation", () => {
  test("many at once do not wait for each other", async () => {
    const slow = await open(h, t, "POST", `/v1/agents/${agentId}/generate`, {
      body: { messages: [script('text="a b" hangAfterChunks=1')] },
    });
    await slow.until("text-delta");
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => generate({ messages: [userMessage("x")], stream: false })),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200));
    await slow.leave();
    // Nobody can cancel it by a session; the agent's deletion ends it.
    await t.call("DELETE", `/v1/agents/${agentId}`);
    await eventually(async () => (await usageOf(h, slow.turnId)) !== null);
  });
});
