import { expect, test } from "bun:test";
import { recordedCallsMax, recordedNameLengthMax } from "../../../src/kernel/limits.ts";
import { StepLog } from "../../../src/sessions/run/step-log.ts";
import type { TurnStep } from "../../../src/sessions/state/turn-step.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { userMessage } from "../../harness/seed.ts";
import { open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: {
    tools: ["memory"],
    approvalInChat: { default: "auto", overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" }] },
  },
});

interface Recorded {
  status: string;
  attempt: number;
  steps: TurnStep[] | null;
  startedAt: Date | null;
  firstTextAt: Date | null;
  claimedAt: Date | null;
  finishedAt: Date | null;
  inputTokens: number;
  outputTokens: number;
  modelCalls: number;
}

async function recordOf(turnId: string): Promise<Recorded> {
  const [row] = await h.sql<Recorded[]>`
    select status, attempt, steps, started_at, first_text_at, claimed_at, finished_at, input_tokens, output_tokens, model_calls
    from turns where id = ${turnId}`;
  return row as Recorded;
}

/** All moments of a turn in the order in which they have to come. */
function expectOrder({ startedAt, steps, finishedAt }: Recorded): void {
  const moments = [
    startedAt?.toISOString(),
    ...(steps ?? []).flatMap((step) => [step.startedAt, step.finishedAt]),
    finishedAt?.toISOString(),
  ];
  expect(moments).toEqual([...moments].sort());
  for (const { startedAt, finishedAt, toolCalls } of steps ?? [])
    for (const call of toolCalls) {
      expect(call.startedAt >= startedAt).toBe(true);
      if (call.status === "succeeded") expect((call.finishedAt as string) <= (finishedAt as string)).toBe(true);
    }
}

const [provider] = await h.sql`
  select provider_id as id, config ->> 'model' as model from agent_versions where agent_id = ${agentId}`;

const step = (index: number, more: object = {}) => ({
  index,
  startedAt: expect.any(String),
  finishedAt: expect.any(String),
  provider: provider?.id,
  model: provider?.model,
  inputTokens: expect.any(Number),
  outputTokens: expect.any(Number),
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  toolCalls: [],
  ...more,
});

const called = (tool: string, status: string, more: object = {}) => ({
  toolCallId: expect.any(String),
  tool,
  status,
  startedAt: expect.any(String),
  finishedAt: expect.any(String),
  ...more,
});

test("a plain turn has one step, with the tokens of its call, between its start and its end", async () => {
  const { turnId } = await play(t, agentId, null, { message: script('text="one two" inputTokens=7 outputTokens=5') });
  const record = await recordOf(turnId);
  expect(record.steps).toEqual([step(0, { inputTokens: 7, outputTokens: 5 })]);
  expectOrder(record);
  expect(record.startedAt).toEqual(record.claimedAt);
  expect(record.firstTextAt?.getTime()).toBeGreaterThanOrEqual(record.startedAt?.getTime() ?? Infinity);
  expect(record.firstTextAt?.getTime()).toBeLessThanOrEqual(record.finishedAt?.getTime() ?? 0);
});

test("tool calls are in the step that made them; a failed one differs from a good one", async () => {
  const calls = 'tool=memory_search args={"query":"x"} tool=memory_search args={"nothing":1} tool=no_such_tool args={}';
  const { turnId } = await play(t, agentId, null, { message: script(`${calls}; text="Done."`) });
  const record = await recordOf(turnId);
  expect(record.steps).toEqual([
    step(0, {
      toolCalls: [
        called("memory_search", "succeeded"),
        called("memory_search", "failed"),
        called("no_such_tool", "failed"),
      ],
    }),
    step(1),
  ]);
  expectOrder(record);
  const sum = (field: "inputTokens" | "outputTokens") =>
    record.steps?.reduce((total, one) => total + one[field], 0) as number;
  expect([sum("inputTokens"), sum("outputTokens"), 2]).toEqual([
    record.inputTokens,
    record.outputTokens,
    record.modelCalls,
  ]);
});

test("a turn that waited for a person keeps its steps, and the continuation says how the calls went", async () => {
  const asks = 'tool=memory_save args={"text":"a"} tool=memory_save args={"text":"b"} ; text="Saved."';
  const { turnId, sessionId } = await play(t, agentId, null, { message: script(asks) });
  const waiting = called("memory_save", "waiting", { finishedAt: null });
  expect((await recordOf(turnId)).steps).toEqual([step(0, { toolCalls: [waiting, waiting] })]);
  const path = sessionPath(agentId, sessionId);
  const { approvals } = (await t.call("GET", `${path}/tool-approvals`)).body;
  for (const [place, { id }] of approvals.entries())
    await t.call("POST", `${path}/tool-approvals/${id}`, { body: { approved: place === 0 } });
  await eventually(async () => (await recordOf(turnId)).status === "succeeded");
  const record = await recordOf(turnId);
  expect(record.steps).toEqual([
    step(0, { toolCalls: [called("memory_save", "succeeded"), called("memory_save", "denied")] }),
    step(1),
  ]);
  expect(record.attempt).toBe(2);
  expect(record.startedAt?.getTime()).toBeLessThan(record.claimedAt?.getTime() as number);
});

test("a turn that is canceled while it waits keeps the step", async () => {
  const asks = 'tool=memory_save args={"text":"a"}';
  const { turnId, sessionId } = await play(t, agentId, null, { message: script(asks) });
  await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
  const record = await recordOf(turnId);
  expect([record.status, record.steps?.length]).toEqual(["canceled", 1]);
});

test.each([
  ["refused", "fail=400", []],
  ["broke off", 'text="one two three" cutAfterChunks=2 delayMs=300', []],
  [
    "failed after a tool",
    'tool=memory_search args={"query":"x"} ; fail=400',
    [step(0, { toolCalls: [called("memory_search", "succeeded")] })],
  ],
])("a turn whose model %s keeps the steps that are known", async (_, how, before) => {
  const { turnId } = await play(t, agentId, null, { message: script(how) });
  const record = await recordOf(turnId);
  const failures = [expect.objectContaining({ endedTurn: true })];
  expect([record.status, record.steps]).toEqual(["failed", [...before, step(before.length, { failures })]]);
  expectOrder(record);
});

test("while a turn runs its row says when its first text came; a canceled one keeps its step", async () => {
  const path = sessionPath(agentId, null);
  const stream = await open(h, t, "POST", path, { body: { message: script('text="one two" hangAfterChunks=1') } });
  await stream.until("text-delta");
  await eventually(async () => (await recordOf(stream.turnId)).firstTextAt !== null);
  const running = await recordOf(stream.turnId);
  expect([running.status, running.finishedAt]).toEqual(["running", null]);
  await t.call("POST", sessionPath(agentId, stream.sessionId, "/cancel"));
  await stream.rest();
  const record = await recordOf(stream.turnId);
  expect([record.status, record.steps]).toEqual(["canceled", [step(0)]]);
  expect(record.firstTextAt).toEqual(running.firstTextAt as Date);
});

test("the first text of a later step is noted while the turn runs too", async () => {
  const how = 'tool=memory_search args={"query":"x"} ; text="one two" hangAfterChunks=1';
  const stream = await open(h, t, "POST", sessionPath(agentId, null), { body: { message: script(how) } });
  await stream.until("text-delta");
  await eventually(async () => (await recordOf(stream.turnId)).firstTextAt !== null);
  expect((await recordOf(stream.turnId)).status).toBe("running");
  await stream.leave();
  await t.call("POST", sessionPath(agentId, stream.sessionId, "/cancel"));
});

test("a stateless generation is recorded as well", async () => {
  const { headers } = await t.call("POST", `/v1/agents/${agentId}/generate`, {
    body: { messages: [userMessage("say hi")], stream: false },
  });
  expect((await recordOf(headers.get("x-turn-id") ?? "")).steps).toEqual([step(0)]);
});

test("the record has so many tool calls, and so much of a name, and no more", async () => {
  const log = new StepLog({ steps: [], toolsLeftOut: [], claimedAt: new Date() });
  log.uses({ id: null, apiKey: "k" }, "m");
  const meter = log.metered({ beforeCall: async () => {}, onCall: () => {} });
  await meter.beforeCall();
  const name = "n".repeat(recordedNameLengthMax);
  const call = (toolName: string, toolCallId: string) =>
    log.pass({ type: "tool-input-available", toolCallId, toolName, input: {} });
  call(name, "1");
  call(`${name}n`, `\ud800${"1".repeat(recordedNameLengthMax)}`);
  for (let made = 2; made < recordedCallsMax + 5; made++) call("tool", `call-${made}`);
  const [only] = log.close().steps;
  expect(only?.toolCalls.map(({ tool }) => tool).slice(0, 2)).toEqual([name, name]);
  expect(only?.toolCalls[1]?.toolCallId).toBe(`\ufffd${"1".repeat(recordedNameLengthMax - 1)}`);
  expect(only?.toolCalls).toHaveLength(recordedCallsMax);
});
