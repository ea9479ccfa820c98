import { describe, expect, test } from "bun:test";
import type { Form } from "../../../src/kernel/errors.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { holdModel } from "../../harness/held-model.ts";
import { makeAgent, makeProvider } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { idle, messagesOf, play, script, sessionPath, textOf } from "../../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const forms: Form[] = ["a", "b"];
const step = 'tool=write_todos args={"todos":[]} inputTokens=300 outputTokens=100';
const limited = (turnLimits: object, more: object = {}) =>
  makeAgent(h, t, { tools: ["write_todos"], turnLimits, ...more });
const errorOf = async (turnId: string) => {
  const [turn] = await h.sql`select status, error ->> 'code' as code from turns where id = ${turnId}`;
  return turn;
};
const reached = { status: "failed", code: "turn_limit_reached" };

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
  readonly errorText?: string;
}

const textsOf = (parts: readonly Part[]) => parts.flatMap(({ type, text }) => (type === "text" ? [text] : []));

describe("turnLimits", () => {
  test("maxModelCalls: the call beyond it is not made, and what the steps before did is kept", async () => {
    const agentId = await limited({ maxModelCalls: 2 });
    const message = script(`text="First." ${step}; text="Second." ${step}; text="Never."`);
    h.model.clear();
    const { chunks, sessionId, turnId } = await play(t, agentId, null, { message });
    expect(chunks.at(-1)).toEqual({
      type: "error",
      errorText: "The turn reached its agent's limit of 2 model calls.",
    });
    expect(textOf(chunks)).toBe("First.Second.");
    expect(h.model.requests()).toHaveLength(2);
    expect(await errorOf(turnId)).toEqual(reached);
    const [asked, answer] = await messagesOf(t, agentId, sessionId);
    expect(asked.parts).toEqual(message.parts);
    expect(textsOf(answer.parts)).toEqual(["First.", "Second."]);
    const next = await play(t, agentId, sessionId, { message: script(`${step}; text=Fine`) });
    expect(next.chunks.at(-1)?.type).toBe("finish");
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(4);
  });

  test("maxModelCalls 50 ends with the error where a turn without it ends well", async () => {
    const message = script(Array(51).fill(step).join("; "));
    for (const [limits, type] of [
      [{}, "finish"],
      [{ maxModelCalls: 50 }, "error"],
    ] as const) {
      h.model.clear();
      const { chunks } = await play(t, await limited(limits), null, { message });
      expect([chunks.at(-1)?.type, h.model.requests().length]).toEqual([type, 50]);
    }
  });

  test("maxTokens is input plus output: reached, no further call is made; the last call may exceed it", async () => {
    const message = script(`text=One ${step}; text=Two ${step}; text=Never`);
    const { chunks, turnId } = await play(t, await limited({ maxTokens: 800 }), null, { message });
    expect(textOf(chunks)).toBe("OneTwo");
    expect(await errorOf(turnId)).toEqual(reached);
    const whole = await play(t, await limited({ maxTokens: 801 }), null, { message });
    expect(textOf(whole.chunks)).toBe("OneTwoNever");
    const single = await play(t, await limited({ maxTokens: 1 }), null, { message: script("text=Yes inputTokens=9") });
    expect(single.chunks.at(-1)?.type).toBe("finish");
  });

  test.each(forms)(
    "409 turn_limit_reached: with stream: false, in a session and a generation; form %s",
    async (form) => {
      const agentId = await limited({ maxModelCalls: 1 });
      const message = script(`${step}; text=Never`);
      const played = await play(t, agentId, null, { message, stream: false }, { form });
      expect(statusAndCode(played)).toEqual([409, "turn_limit_reached"]);
      const body = { messages: [message], stream: false };
      const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, { body, form });
      expect(statusAndCode(generated)).toEqual([409, "turn_limit_reached"]);
    },
  );

  test("maxSeconds ends a step in the middle of its text; the completed steps are kept", async () => {
    // So long that the first step is complete on a busy machine too.
    const agentId = await limited({ maxSeconds: 5 });
    const message = script(`text="Done." ${step}; text="one two three" hangAfterChunks=1`);
    const { chunks, sessionId, turnId } = await play(t, agentId, null, { message });
    expect(chunks.at(-1)).toEqual({ type: "error", errorText: "The turn reached its agent's limit of 5 s." });
    expect(await errorOf(turnId)).toEqual(reached);
    const [, answer] = await messagesOf(t, agentId, sessionId);
    expect(textsOf(answer.parts)).toEqual(["Done."]);
    expect(answer.parts.find(({ type }: Part) => type === "tool-write_todos").state).toBe("output-available");
  });

  test("maxSeconds without a completed step leaves the transcript as it was", async () => {
    await using held = holdModel(h.model);
    const provider = await makeProvider(h, t, { baseUrl: held.url });
    const agentId = await limited({ maxSeconds: 1 }, { providerId: provider.id });
    const message = { id: "m", role: "user", parts: [{ type: "text", text: "(held)" }] };
    const { sessionId, turnId } = await play(t, agentId, null, { message });
    expect(await errorOf(turnId)).toEqual(reached);
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(0);
  });

  const approvalInChat = { default: "manual" as const, overrides: [] };
  const approve = async (agentId: string, sessionId: string, approved = true) => {
    const path = sessionPath(agentId, sessionId, "/tool-approvals");
    const { approvals } = (await t.call("GET", path)).body;
    expect((await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved } })).status).toBe(202);
    await idle(h, sessionId);
  };
  const asking = script('text=Before tool=write args={"path":"a.txt","content":"x"}; text=After');

  test.each([{ maxModelCalls: 1 }, { maxTokens: 1 }])(
    "%o: a call of a model call within it is made once it is approved, and then the limit is asked",
    async (limits) => {
      const agentId = await limited(limits, { tools: ["workspace"], approvalInChat });
      h.model.clear();
      const { sessionId, turnId } = await play(t, agentId, null, { message: asking });
      await approve(agentId, sessionId);
      expect(await errorOf(turnId)).toEqual(reached);
      expect(h.model.requests()).toHaveLength(1);
      const [, answer] = await messagesOf(t, agentId, sessionId);
      expect(answer.parts.find(({ type }: Part) => type === "tool-write")).toMatchObject({ state: "output-available" });
      // What it wrote is there, as it is without an approval.
      const read = await t.call("GET", `/v1/turns/${turnId}`);
      expect(read.body.steps).toMatchObject([{ toolCalls: [{ tool: "write", status: "succeeded" }] }]);
    },
  );

  test("a step that follows denials alone is in the turn's record", async () => {
    const agentId = await limited({ maxModelCalls: 3 }, { tools: ["workspace"], approvalInChat });
    const { sessionId, turnId } = await play(t, agentId, null, { message: asking });
    await approve(agentId, sessionId, false);
    const { steps, status } = (await t.call("GET", `/v1/turns/${turnId}`)).body;
    expect([status, steps.length]).toEqual(["succeeded", 2]);
  });

  test("limits span continuations, and waiting for a person is no time", async () => {
    const message = asking;
    const bySeconds = await limited({ maxSeconds: 30 }, { tools: ["workspace"], approvalInChat });
    const second = await play(t, bySeconds, null, { message });
    // As if it had been asked an hour ago.
    await h.sql`update turns set accepted_at = now() - interval '1 hour', started_at = now() - interval '1 hour' where id = ${second.turnId}`;
    await approve(bySeconds, second.sessionId);
    expect(await errorOf(second.turnId)).toEqual({ status: "succeeded", code: null });

    const third = await play(t, bySeconds, null, { message });
    await h.sql`update turns set run_ms = 30000 where id = ${third.turnId}`;
    await approve(bySeconds, third.sessionId);
    expect(await errorOf(third.turnId)).toEqual(reached);
  });

  test("a task's run ends with the error", async () => {
    const agentId = await limited({ maxModelCalls: 1 });
    const prompt = `[[sim: ${step}; text=Never]]`;
    const { runId } = await t.parley.tasks.create({ agentId, name: "limited", prompt, submit: true });
    const error = await eventually(async () => {
      const [run] = await h.sql`select error from task_runs where id = ${runId}`;
      return run?.error ?? undefined;
    });
    expect(error.code).toBe("turn_limit_reached");
  });
});

describe("turnLimits of an agent", () => {
  test("replaced as a whole, versioned, refused by name", async () => {
    const agentId = await limited({ maxTokens: 5, maxSeconds: 6 });
    const put = (turnLimits: unknown) => t.call("PUT", `/v1/agents/${agentId}`, { body: { turnLimits } });
    expect((await put({ maxModelCalls: 3 })).body).toMatchObject({ turnLimits: { maxModelCalls: 3 }, version: 2 });
    expect((await put({})).body.turnLimits).toEqual({});
    const old = await t.call("GET", `/v1/agents/${agentId}/versions/1`);
    expect(old.body.turnLimits).toEqual({ maxTokens: 5, maxSeconds: 6 });
    for (const [value, path] of [
      [null, "/turnLimits"],
      [{ maxModelCalls: 51 }, "/turnLimits/maxModelCalls"],
      [{ maxModelCalls: 1.5 }, "/turnLimits/maxModelCalls"],
      [{ maxTokens: 0 }, "/turnLimits/maxTokens"],
      [{ maxSeconds: 21_601 }, "/turnLimits/maxSeconds"],
      [{ maxSeconds: null }, "/turnLimits/maxSeconds"],
      [{ more: 1 }, "/turnLimits/more"],
    ] as const) {
      const { status, body } = await put(value);
      expect([status, body.error?.details?.issues?.[0]?.path]).toEqual([400, path]);
    }
  });
});
