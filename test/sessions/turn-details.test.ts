import { describe, expect, test } from "bun:test";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const h = await useService({ worker: true });
type Step = { readonly toolCalls: readonly { readonly status: string }[] };

const forms = ["a", "b"] as const;

describe("a turn", () => {
  test.each(forms)("is read with its steps, and the list shows the rest of it, form %s", async (form) => {
    const owner = await h.tenant();
    const agent = await makeAgent(h, owner, { tools: ["memory"], approvalInChat: { default: "full" } });
    const message = script('tool=memory_search args={"query":"x"} ; text="Done."');
    const played = await play(owner, agent, null, { message, userId: "u-9" }, { form });
    const { status, body } = await owner.call("GET", `/v1/turns/${played.turnId}`, { form });
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const step = { index: 0, startedAt: moment, finishedAt: moment, provider: expect.stringMatching(/^prv_/) };
    const parts = { cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    const tokens = { ...parts, inputTokens: expect.any(Number), outputTokens: expect.any(Number) };
    const call = { toolCallId: expect.any(String), tool: "memory_search", status: "succeeded" };
    expect([status, body]).toEqual([
      200,
      {
        id: played.turnId,
        agentId: agent,
        agentVersion: 1,
        sessionId: played.sessionId,
        kind: "session",
        status: "succeeded",
        error: null,
        userId: "u-9",
        attempts: 1,
        requestId: played.headers.get("x-request-id"),
        acceptedAt: moment,
        startedAt: moment,
        firstTextAt: moment,
        finishedAt: moment,
        waitedMs: expect.any(Number),
        runMs: expect.any(Number),
        ...tokens,
        ...{ costUsd: null, costIsComplete: false },
        toolsLeftOut: [],
        usageEstimated: false,
        modelCalls: 2,
        steps: [
          {
            ...step,
            ...tokens,
            model: expect.any(String),
            toolCalls: [{ ...call, startedAt: moment, finishedAt: moment }],
            failures: [],
          },
          { ...step, ...tokens, index: 1, model: expect.any(String), toolCalls: [], failures: [] },
        ],
      },
    ]);
    const { steps, toolsLeftOut, ...rest } = body;
    expect(toolsLeftOut).toEqual([]);
    expect(
      steps.map(({ inputTokens }: { inputTokens: number }) => inputTokens).reduce((a: number, b: number) => a + b),
    ).toBe(body.inputTokens);
    expect((await owner.call("GET", "/v1/turns", { form })).body).toEqual({ data: [rest], nextCursor: null });
  });

  test("that failed says why; one that was canceled has no error, and its open call was canceled too", async () => {
    const owner = await h.tenant();
    const agent = await makeAgent(h, owner, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const failed = await play(owner, agent, null, { message: script("fail=400") });
    const read = async (id: string) => (await owner.call("GET", `/v1/turns/${id}`)).body;
    expect(await read(failed.turnId)).toMatchObject({
      status: "failed",
      error: { code: "provider_error", message: "The model provider answered with status 400." },
      firstTextAt: null,
      // The call that was refused is a step, and is not metered.
      modelCalls: 0,
      inputTokens: 0,
      steps: [{ index: 0, finishedAt: expect.any(String), inputTokens: 0, outputTokens: 0, toolCalls: [] }],
    });
    const asked = await play(owner, agent, null, { message: script('tool=memory_save args={"text":"a"}') });
    expect(await read(asked.turnId)).toMatchObject({
      status: "waiting",
      finishedAt: null,
      steps: [{ toolCalls: [{ status: "waiting", finishedAt: null }] }],
    });
    await owner.call("POST", sessionPath(agent, asked.sessionId, "/cancel"));
    expect(await read(asked.turnId)).toMatchObject({
      status: "canceled",
      error: null,
      steps: [{ toolCalls: [{ status: "canceled", finishedAt: null }] }],
    });
    // Form A's session that its failed first turn leaves behind is gone; the turn says how it failed.
    const hidden = await play(owner, agent, null, { message: script("fail=400") }, { form: "a" });
    expect(await read(hidden.turnId)).toMatchObject({ status: "failed", sessionId: hidden.sessionId });
  });

  test("says of a client tool's calls that they wait for the caller, and how they ended", async () => {
    const owner = await h.tenant();
    const locate = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" as const } };
    const ask = { tool: "locate", mcpConnectionId: null, mode: "manual" as const };
    for (const overrides of [[], [ask]]) {
      const policy = { default: "full" as const, overrides };
      const agent = await makeAgent(h, owner, { clientTools: [locate], approvalInChat: policy });
      const calls = 'tool=locate args={"n":1} tool=locate args={"n":2} ; text="Known."';
      const { turnId, sessionId } = await play(owner, agent, null, { message: script(calls) });
      const path = sessionPath(agent, sessionId);
      const states = async () => {
        const { status, steps } = (await owner.call("GET", `/v1/turns/${turnId}`)).body;
        return [status, ...steps.map((step: Step) => step.toolCalls.map((call) => call.status))];
      };
      expect(await states()).toEqual(["waiting", ["waiting", "waiting"]]);
      const { approvals } = (await owner.call("GET", `${path}/tool-approvals`)).body;
      for (const { id } of approvals)
        await owner.call("POST", `${path}/tool-approvals/${id}`, { body: { approved: true } });
      await eventually(async () => (await owner.call("GET", `${path}/tool-calls`)).body.toolCalls.length === 2);
      expect(await states()).toEqual(["waiting", ["waiting", "waiting"]]);
      const { toolCalls } = (await owner.call("GET", `${path}/tool-calls`)).body;
      for (const [place, { toolCallId }] of toolCalls.entries()) {
        const body = place === 0 ? { output: 1 } : { errorText: "No." };
        await owner.call("POST", `${path}/tool-calls/${toolCallId}`, { body });
      }
      await eventually(async () => (await states())[0] === "succeeded");
      const [, first, ...rest] = await states();
      expect([(first as string[]).sort(), ...rest]).toEqual([["failed", "succeeded"], []]);
    }
  });

  test("404 not_found: of a deleted session, and of a deleted agent, at once", async () => {
    const owner = await h.tenant();
    const agent = await makeAgent(h, owner);
    const first = await play(owner, agent, null, { message: userMessage("hi") });
    const second = await play(owner, agent, null, { message: userMessage("hi") });
    const ids = async (query = "") =>
      (await owner.call("GET", `/v1/turns${query}`)).body.data.map(({ id }: { id: string }) => id);
    await owner.call("DELETE", `${sessionPath(agent, first.sessionId)}?deleteArtifacts=false`);
    expect(statusAndCode(await owner.call("GET", `/v1/turns/${first.turnId}`))).toEqual([404, "not_found"]);
    for (const query of ["", "?status=succeeded", `?agentId=${agent}`, "?userId="])
      expect(await ids(query)).toEqual([second.turnId]);
    expect(await ids(`?sessionId=${first.sessionId}`)).toEqual([]);
    await owner.call("DELETE", `/v1/agents/${agent}`);
    expect(statusAndCode(await owner.call("GET", `/v1/turns/${second.turnId}`))).toEqual([404, "not_found"]);
    expect(await ids()).toEqual([]);
  });
});
