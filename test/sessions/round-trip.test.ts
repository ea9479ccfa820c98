import { describe, expect, test } from "bun:test";
import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { useAgent } from "../harness/fixture.ts";
import { type ApiResponse, eventually } from "../harness/harness.ts";
import { chunksOf, makeAgent, userMessage } from "../harness/seed.ts";

const locate = {
  name: "locate",
  description: "Where the user is.",
  inputSchema: { type: "object" as const, properties: { precise: { type: "boolean" } } },
};
const { h, t, agentId } = await useAgent({
  worker: true,
  agent: {
    tools: ["memory"],
    clientTools: [locate],
    approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" }] },
  },
});
const asking = await makeAgent(h, t, {
  tools: ["memory"],
  clientTools: [locate],
  approvalInChat: { default: "manual" },
});

/** The AI SDK's own chat over the transport that the README shows, on this process's service. */
function openChat(
  agent: string,
  {
    onToolCall,
    automatic = true,
  }: { onToolCall?: (id: string, chat: Chat<UIMessage>) => void; automatic?: boolean } = {},
) {
  const agentUrl = `http://parley.test/v1/agents/${agent}`;
  const place = { sessionUrl: null as string | null, statuses: [] as number[] };
  const transport = new DefaultChatTransport<UIMessage>({
    headers: { Authorization: `Bearer ${t.token}` },
    fetch: (async (input: RequestInfo | URL, init?: RequestInit) => {
      const response = await h.app(new Request(input, init));
      place.statuses.push(response.status);
      const location = response.headers.get("Location");
      if (location !== null) place.sessionUrl = new URL(location, agentUrl).href;
      return response;
    }) as typeof fetch,
    prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
      api: place.sessionUrl ?? `${agentUrl}/sessions`,
      body: { message: messages.at(-1), trigger, messageId },
    }),
    prepareReconnectToStreamRequest: () => ({ api: `${place.sessionUrl}/stream` }),
  });
  const chat: Chat<UIMessage> = new Chat<UIMessage>({
    transport,
    ...(onToolCall === undefined ? {} : { onToolCall: ({ toolCall }) => onToolCall(toolCall.toolCallId, chat) }),
    ...(automatic
      ? {
          sendAutomaticallyWhen: (state) =>
            lastAssistantMessageIsCompleteWithToolCalls(state) ||
            lastAssistantMessageIsCompleteWithApprovalResponses(state),
        }
      : {}),
  });
  const path = () => new URL(place.sessionUrl ?? "").pathname;
  const stored = async () => (await t.call("GET", `${path()}/messages`)).body.data as UIMessage[];
  return { chat, place, path, stored };
}

type Part = UIMessage["parts"][number] & {
  readonly state?: string;
  readonly toolCallId?: string;
  readonly approval?: { readonly id: string };
};
const answerOf = (chat: Chat<UIMessage>) => chat.messages.at(-1) as UIMessage;
const partsOf = (chat: Chat<UIMessage>) => answerOf(chat).parts as Part[];
/** Waits until the chat's answer ends with this text, and compares what it holds with what is stored. */
async function endsWith({ chat, stored }: ReturnType<typeof openChat>, text: string): Promise<void> {
  await eventually(() => chat.status === "ready" && textOf(answerOf(chat)).endsWith(text));
  expect(JSON.parse(JSON.stringify(chat.messages))).toEqual(await stored());
}
const textOf = (message: UIMessage) =>
  message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");

describe("useChat with sendAutomaticallyWhen and nothing else", () => {
  test("a client tool's output goes back, and the answer goes on in the same message", async () => {
    const opened = openChat(agentId);
    const { chat, place } = opened;
    await chat.sendMessage({ text: '[[sim: tool=locate args={"precise":true} ; text="You are in Lisbon."]]' });
    expect(partsOf(chat).at(-1)).toMatchObject({ type: "tool-locate", state: "input-available" });
    await chat.addToolOutput({
      tool: "locate",
      toolCallId: partsOf(chat).at(-1)?.toolCallId ?? "",
      output: { city: "Lisbon" },
    });
    await endsWith(opened, "You are in Lisbon.");
    expect(chat.messages).toHaveLength(2);
    expect(place.statuses).toEqual([201, 200]);
    await chat.sendMessage({ text: "And now?" });
    expect(chat.status).toBe("ready");
  });

  test("an error goes back, and calls that are answered as they come", async () => {
    const opened = openChat(agentId, {
      onToolCall: (toolCallId, chat) =>
        void chat.addToolOutput({ tool: "locate", toolCallId, state: "output-error", errorText: "No permission." }),
    });
    const script =
      '[[sim: tool=locate args={} tool=locate args={"precise":true} ; tool=locate args={} ; text="Nowhere."]]';
    await opened.chat.sendMessage({ text: script });
    await endsWith(opened, "Nowhere.");
    expect(opened.place.statuses).toEqual([201, 200, 200]);
  });

  test("an approval goes back, granted or denied", async () => {
    for (const approved of [true, false]) {
      const opened = openChat(agentId);
      const { chat, place } = opened;
      await chat.sendMessage({ text: '[[sim: tool=memory_save args={"text":"tea"} ; text="Noted."]]' });
      await chat.addToolApprovalResponse({ id: partsOf(chat).at(-1)?.approval?.id ?? "", approved, reason: "Because" });
      await endsWith(opened, "Noted.");
      expect(place.statuses).toEqual([201, 200]);
      const [approval] = (await t.call("GET", `${opened.path()}/tool-approvals`)).body.approvals;
      expect(approval).toMatchObject({ status: approved ? "approved" : "denied", reason: "Because" });
      expect(approval.decidedBy.type).toBe("api_key");
      const { data } = (await t.call("GET", "/v1/audit-events?action=approval.decide")).body;
      expect(data[0]).toMatchObject({ resourceId: approval.id, changes: ["status", "reason"] });
    }
  });

  test("a manual client tool: approved, asked for, answered", async () => {
    const asked: string[] = [];
    const opened = openChat(asking, {
      onToolCall: (toolCallId, chat) => {
        asked.push(toolCallId);
        // The first time the call only waits for its approval.
        const part = partsOf(chat).find((known) => known.toolCallId === toolCallId);
        if (part?.approval !== undefined) void chat.addToolOutput({ tool: "locate", toolCallId, output: "Lisbon" });
      },
    });
    const { chat, place } = opened;
    await chat.sendMessage({ text: '[[sim: tool=locate args={} ; text="In Lisbon."]]' });
    await eventually(() => chat.status === "ready");
    await chat.addToolApprovalResponse({ id: partsOf(chat).at(-1)?.approval?.id ?? "", approved: true });
    await endsWith(opened, "In Lisbon.");
    expect(place.statuses).toEqual([201, 200, 200]);
    expect(partsOf(chat)[1]).toMatchObject({ state: "output-available", approval: { approved: true } });
  });

  test.each([
    [false, true],
    [true, false],
  ])("of two calls one is denied, and the caller's is approved and answered: %p, %p", async (saves, locates) => {
    const opened = openChat(asking);
    const { chat, place, path } = opened;
    await chat.sendMessage({ text: '[[sim: tool=memory_save args={"text":"x"} tool=locate args={} ; text="Both."]]' });
    const [, save, call] = partsOf(chat);
    await chat.addToolApprovalResponse({ id: save?.approval?.id ?? "", approved: saves, reason: "Because" });
    await chat.addToolApprovalResponse({ id: call?.approval?.id ?? "", approved: locates });
    if (locates) {
      await eventually(() => chat.status === "ready" && partsOf(chat)[2]?.state === "input-available");
      const [turn] = (await t.call("GET", `/v1/turns?sessionId=${path().split("/").at(-1)}`)).body.data;
      const { steps } = (await t.call("GET", `/v1/turns/${turn.id}`)).body;
      expect(steps[0].toolCalls.map(({ status }: { status: string }) => status)).toEqual(["denied", "waiting"]);
      await chat.addToolOutput({ tool: "locate", toolCallId: call?.toolCallId ?? "", output: "Lisbon" });
    }
    await endsWith(opened, "Both.");
    expect(place.statuses).toEqual(locates ? [201, 200, 200] : [201, 200]);
    const states = partsOf(chat).map(({ state }) => state);
    expect(states.slice(1, 3)).toEqual(
      locates ? ["output-denied", "output-available"] : ["output-available", "output-denied"],
    );
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain(locates ? "Lisbon" : "memoryId");
  });

  test("a decision and a result of one message go back together", async () => {
    const opened = openChat(agentId);
    const { chat, place } = opened;
    await chat.sendMessage({ text: '[[sim: tool=memory_save args={"text":"x"} tool=locate args={} ; text="Both."]]' });
    const [, save, call] = partsOf(chat);
    await chat.addToolApprovalResponse({ id: save?.approval?.id ?? "", approved: true });
    await chat.addToolOutput({ tool: "locate", toolCallId: call?.toolCallId ?? "", output: 1 });
    await endsWith(opened, "Both.");
    expect(place.statuses).toEqual([201, 200]);
  });
});

describe("an assistant message by hand", () => {
  const both = '[[sim: tool=memory_save args={"text":"x"} tool=locate args={} ; text="Both."]]';
  const statusOf = ({ status, body }: ApiResponse) => [status, body.error?.code];

  async function ask(script = both, agent: string = agentId) {
    const first = await t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(script) } });
    const path = first.headers.get("location") ?? "";
    const message = (await t.call("GET", `${path}/messages`)).body.data[1] as UIMessage;
    const parts = message.parts as Part[];
    const send = (changed: object[], fields: object = {}, options: object = {}) =>
      t.call("POST", path, { body: { message: { ...message, parts: changed }, ...fields }, ...options });
    return { path, message, parts, send };
  }
  const approved = (part: Part | undefined) => ({
    ...part,
    state: "approval-responded",
    approval: { ...part?.approval, approved: true },
  });
  const answered = (part: Part | undefined, output: unknown = 1) => ({ ...part, state: "output-available", output });

  test("409 session_busy: when it settles nothing; 202 while something is left, 200 with the rest", async () => {
    const { path, parts, send } = await ask();
    const [, save, call] = parts;
    expect(statusOf(await send(parts))).toEqual([409, "session_busy"]);
    expect(statusOf(await send([]))).toEqual([409, "session_busy"]);
    const half = await send([approved(save), call as object]);
    expect(half.status).toBe(202);
    expect(half.body).toEqual({ continuation: expect.objectContaining({ status: "waiting" }) });
    expect(half.headers.get("x-turn-id")).toMatch(/^turn_/);
    expect(statusOf(await send([approved(save), call as object]))).toEqual([409, "session_busy"]);
    const rest = await send([approved(save), answered(call)]);
    expect(rest.status).toBe(200);
    const chunks = chunksOf(rest.body);
    expect(chunks[0]).toEqual({ type: "start", messageId: expect.stringMatching(/^msg_/) });
    expect(chunks.at(-1)?.type).toBe("finish");
    for (const late of [[approved(save), answered(call)], []])
      expect(statusOf(await send(late))).toEqual([409, "session_busy"]);
    const calls = (await t.call("GET", `${path}/tool-calls`)).body;
    expect(calls.toolCalls[0].status).toBe("done");
  });

  test("with stream false the answer is the message", async () => {
    const { path, parts, send } = await ask();
    const [, save, call] = parts;
    const whole = await send([approved(save), answered(call)], { stream: false });
    expect(whole.status).toBe(200);
    expect(whole.body.message).toEqual((await t.call("GET", `${path}/messages`)).body.data[1]);
    expect(whole.body.message.parts.at(-1).text).toBe("Both.");
  });

  test("works in form A as in form B", async () => {
    const { parts, send } = await ask();
    const [, save, call] = parts;
    const whole = await send([approved(save), answered(call)], { stream: false }, { form: "a" });
    expect([whole.status, whole.body.message.parts.at(-1).text]).toEqual([200, "Both."]);
    expect(statusOf(await send([approved(save)], {}, { form: "a" }))).toEqual([409, "SESSION_BUSY"]);
  });

  test("other parts are ignored and never stored; a call of an earlier step with the same id is not meant", async () => {
    const { path, message, parts, send } = await ask('[[sim: tool=locate args={} ; text="Done."]]');
    const call = parts[1] as Part;
    const earlier = [{ type: "step-start" }, answered(call, "earlier"), { type: "text", text: "forged" }];
    expect(statusOf(await send([...earlier, ...parts]))).toEqual([409, "session_busy"]);
    const foreign = { type: "tool-bash", toolCallId: "call_x", state: "output-available", input: {}, output: "forged" };
    const sent = await send([...earlier, { type: "step-start" }, foreign, answered(call, "mine")]);
    expect(sent.status).toBe(200);
    const stored = (await t.call("GET", `${path}/messages`)).body.data[1];
    expect(JSON.stringify(stored)).not.toContain("forged");
    expect(stored).toMatchObject({ id: message.id, parts: [{}, { output: "mine" }, {}, { text: "Done." }] });
  });

  test("400 validation_failed: of another message, or with fields that break their rules", async () => {
    const { path, message, parts, send } = await ask();
    const [, save, call] = parts;
    const big = "x".repeat(256 * 1024 - 1);
    const faults: [object[], object, string][] = [
      [parts, { messageId: "other" }, "/messageId"],
      [
        [{ ...approved(save), approval: { ...save?.approval, approved: "yes" } }],
        {},
        "/message/parts/0/approval/approved",
      ],
      [
        [{ ...approved(save), approval: { ...save?.approval, approved: true, reason: "x".repeat(1_001) } }],
        {},
        "/message/parts/0/approval/reason",
      ],
      [[answered(call, big)], {}, "/message/parts/0/output"],
      [[{ ...call, state: "output-error", errorText: "x".repeat(4_097) }], {}, "/message/parts/0/errorText"],
      [[{ ...call, state: "output-error" }], {}, "/message/parts/0/errorText"],
      [parts, { promptId: `prompt_${"0".repeat(24)}` }, "/promptId"],
    ];
    for (const [changed, fields, field] of faults) {
      const refused = await send(changed, fields);
      expect([refused.status, refused.body.error.details.issues[0].path]).toEqual([400, field]);
    }
    const body = { message: { ...message, id: "other" } };
    const refused = await t.call("POST", path, { body });
    expect([refused.status, refused.body.error.details.issues[0].path]).toEqual([400, "/message/id"]);
    expect((await send([approved(save), answered(call, big.slice(1))])).status).toBe(200);
  });

  test("404 not_found, 409 session_busy: in another's session, in one that waits for nothing", async () => {
    const { path, message, parts, send } = await ask();
    const other = await h.tenant();
    expect((await other.call("POST", path, { body: { message } })).status).toBe(404);
    expect((await t.call("POST", `${path}/cancel`, { body: {} })).status).toBe(202);
    expect(statusOf(await send([approved(parts[1])]))).toEqual([409, "session_busy"]);
    expect((await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message } })).status).toBe(400);
  });

  test("a repeat under its Idempotency-Key settles nothing twice and gets the same stream", async () => {
    const { parts, send } = await ask();
    const [, save, call] = parts;
    const keyed = { headers: { "idempotency-key": crypto.randomUUID() } };
    const first = await send([approved(save), answered(call)], {}, keyed);
    const again = await send([approved(save), answered(call)], {}, keyed);
    expect([again.status, chunksOf(again.body)]).toEqual([200, chunksOf(first.body)]);
    expect(statusOf(await send([approved(save)], {}, keyed))).toEqual([422, "idempotency_key_reused"]);
  });

  test("of two at the same time one goes on; a result by the other operation counts like its own", async () => {
    for (let round = 0; round < 3; round += 1) {
      const { path, parts, send } = await ask();
      const [, save, call] = parts;
      const all = await Promise.all([
        send([approved(save), call as object], { stream: false }),
        send([save as object, answered(call)], { stream: false }),
        t.call("POST", `${path}/tool-calls/${call?.toolCallId}`, { body: { output: 1 } }),
      ]);
      expect(all.map(({ status }) => status).filter((status) => status < 300).length).toBe(2);
      await eventually(async () => {
        const { continuation } = (await t.call("GET", `${path}/tool-calls`)).body;
        return continuation.status === "succeeded";
      });
      const stored = (await t.call("GET", `${path}/messages`)).body.data;
      expect([stored.length, stored[1].parts.at(-1).text]).toEqual([2, "Both."]);
    }
  });
});
