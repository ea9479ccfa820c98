import { describe, expect, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { useAgent } from "../../harness/fixture.ts";
import { type Answer, eventually } from "../../harness/harness.ts";
import { chunksOf, makeAgent, say, sseEvents } from "../../harness/seed.ts";
import { conversationOf, open, requestsOf, script, sessionPath, textOf, usageOf } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { instructions: "Be brief." } });

const code = ({ status, body }: Answer) => [status, body?.error?.code];
const generate = (body: unknown, form: "a" | "b" = "b", headers: Record<string, string> = {}) =>
  t.call("POST", `/v1/agents/${agentId}/generate`, { body, form, headers });
const assistant = (text: string) => ({ role: "assistant", parts: [{ type: "step-start" }, { type: "text", text }] });

for (const form of ["a", "b"] as const) {
  describe(`POST /v1/agents/:agentId/generate, form ${form}`, () => {
    test("200 streams by default, without a session, a Location or a trace in the lists", async () => {
      const answer = await generate(
        { messages: [script('text="Hello there"')], userId: "gen", metadata: { a: 1 } },
        form,
      );
      expect([answer.status, answer.headers.get("location")]).toEqual([200, null]);
      expect(answer.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      const turnId = answer.headers.get("x-turn-id") ?? "";
      expect(turnId).toMatch(/^turn_/);
      expect(textOf(chunksOf(answer.body))).toBe("Hello there");
      expect(sseEvents(answer.body).at(-1)?.data).toBe("[DONE]");
      expect(await usageOf(h, turnId)).toMatchObject({ sessionId: "", userId: "gen" });
      const stateless = await t.call("GET", "/v1/usage?sessionId=&userId=gen");
      expect(stateless.body.totals.requestCount).toBeGreaterThan(0);
      expect((await t.call("GET", sessionPath(agentId, null))).body.data).toEqual([]);
    });

    test("200 with stream false answers the message; the model gets the whole conversation", async () => {
      const message = script('text="Third"');
      const answer = await generate(
        { messages: [say("first"), assistant("second"), message], stream: false, version: 1 },
        form,
      );
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        message: {
          id: expect.stringMatching(/^msg_/),
          role: "assistant",
          parts: [{ type: "step-start" }, { type: "text", text: "Third", state: "done" }],
        },
      });
      expect(conversationOf(h, message).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    });

    test("400 for what is no conversation", async () => {
      const name = form === "a" ? "invalid_request" : "validation_failed";
      const cases: [unknown, string][] = [
        [{}, "/messages"],
        [{ messages: [] }, "/messages"],
        [{ messages: [say("x"), assistant("y")] }, "/messages/1/role"],
        [{ messages: [{ role: "system", parts: [{ type: "text", text: "x" }] }] }, "/messages/0/role"],
        [{ messages: [{ ...say("x"), parts: [] }] }, "/messages/0/parts"],
        [{ messages: [{ ...say("x"), parts: [{ type: "reasoning", text: "x" }] }] }, "/messages/0/parts/0/type"],
        [{ messages: [{ role: "assistant", parts: [7] }, say("x")] }, "/messages/0/parts/0"],
        [{ messages: [{ role: "assistant", parts: [{ type: "text" }] }, say("x")] }, "/messages/0/parts/0/text"],
        [{ messages: [say("x")], trigger: "submit-message" }, "/trigger"],
        [{ messages: [say("x")], version: 0 }, "/version"],
        [{ messages: [say("x")], stream: 1 }, "/stream"],
        [{ messages: [say("x\0")] }, "/messages/0/parts/0/text"],
        [{ message: say("x") }, "/message"],
      ];
      for (const [body, path] of cases) {
        const answer = await generate(body, form);
        const issues: { path: string }[] = answer.body.error.details.issues;
        expect([...code(answer), issues.some((issue) => issue.path === path)]).toEqual([400, name, true]);
      }
    });

    test("404 and 409 as for a session's turn", async () => {
      const post = (id: string, body: object) => t.call("POST", `/v1/agents/${id}/generate`, { body, form });
      expect(code(await post(newId("agent"), { messages: [say("x")] }))).toEqual([404, "not_found"]);
      expect(code(await post(agentId, { messages: [say("x")], version: 9 }))).toEqual([
        404,
        form === "a" ? "AGENT_VERSION_NOT_FOUND" : "agent_version_not_found",
      ]);
      const off = await makeAgent(h, t);
      await t.call("POST", `/v1/agents/${off}/disable`);
      expect(code(await post(off, { messages: [say("x")] }))).toEqual([
        409,
        form === "a" ? "AGENT_DISABLED" : "agent_disabled",
      ]);
    });

    test("502 when the model fails, or an error chunk; metered both times", async () => {
      const waited = await generate({ messages: [script("fail=401")], stream: false }, form);
      expect(code(waited)).toEqual([502, "provider_error"]);
      const streamed = await generate({ messages: [script("fail=401")] }, form);
      expect([streamed.status, chunksOf(streamed.body).at(-1)?.type]).toEqual([200, "error"]);
      for (const { headers } of [waited, streamed])
        expect(await usageOf(h, headers.get("x-turn-id") ?? "")).toMatchObject({ sessionId: "" });
    });

    test("an Idempotency-Key runs it once", async () => {
      const headers = { "idempotency-key": crypto.randomUUID() };
      const body = { messages: [script(`text="${headers["idempotency-key"]}"`)], stream: false };
      const answers = await Promise.all(Array.from({ length: 5 }, () => generate(body, form, headers)));
      answers.push(await generate(body, form, headers));
      expect(new Set(answers.map((answer) => JSON.stringify([answer.status, answer.body]))).size).toBe(1);
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
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => generate({ messages: [say("x")], stream: false })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    await slow.leave();
    // Nobody can cancel it by a session; the agent's deletion ends it.
    await t.call("DELETE", `/v1/agents/${agentId}`);
    await eventually(async () => (await usageOf(h, slow.turnId)) !== null);
  });
});
