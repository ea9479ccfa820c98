import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Chat } from "@ai-sdk/react";
import { isToolUIPart, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { canGoOn, ParleyChat } from "parley/use-chat";
import { listen } from "../../src/kernel/runtime.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { holdModel, openEndedMark } from "../harness/held-model.ts";
import { inRepository } from "../harness/repository.ts";
import { makeAgent } from "../harness/seed.ts";
import { messagesOf } from "../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const model = holdModel(h.model);
afterAll(() => model[Symbol.asyncDispose]());
const agentId = await makeAgent({ model }, t);

/** A chat on this process's service. */
function openChat(agent: string = agentId) {
  const chat = new ParleyChat({
    agentUrl: `http://parley.test/v1/agents/${agent}`,
    apiKey: t.token,
    fetch: (input, init) => h.app(new Request(input, init)),
  });
  return { chat, transport: chat.transport };
}

function user(id: string, text: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

async function assemble(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last as UIMessage;
}

const textOf = (message: UIMessage) =>
  message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");

describe("useChat over the transport of parley/use-chat", () => {
  const submit = { chatId: "c", trigger: "submit-message" as const, messageId: undefined, abortSignal: undefined };

  test("sends, resumes and regenerates; the assembled message is the stored one", async () => {
    const { chat, transport } = openChat();
    const question = user("u1", '[[sim: text="One"]]');
    const first = await assemble(await transport.sendMessages({ ...submit, messages: [question] }));
    expect(textOf(first)).toBe("One");
    const next = user("u2", '[[sim: text="Two"]]');
    const second = await assemble(await transport.sendMessages({ ...submit, messages: [question, first, next] }));
    const again = await assemble(
      await transport.sendMessages({
        ...submit,
        messages: [question, first, next],
        trigger: "regenerate-message",
        messageId: second.id,
      }),
    );
    expect(textOf(again)).toBe("Two");
    const stored = await t.call("GET", `${new URL(chat.sessionUrl as string).pathname}/messages`);
    expect(stored.body.data).toEqual([question, first, next, again]);
  });

  test("reconnects to a running turn from its first chunk, and to nothing when none runs", async () => {
    const { chat, transport } = openChat();
    const slow = user("u1", `${openEndedMark} [[sim: chunks=20 size=200]]`);
    const sending = transport.sendMessages({ ...submit, messages: [slow] }).then(assemble);
    await eventually(() => chat.sessionUrl !== null);
    const stream = await transport.reconnectToStream({ chatId: "c" });
    model.release();
    const joined = await assemble(stream as ReadableStream<UIMessageChunk>);
    expect(joined).toEqual(await sending);
    expect(await transport.reconnectToStream({ chatId: "c" })).toBeNull();
  });

  test("stop ends the turn and keeps what it said; the next message waits for that end", async () => {
    const { chat, transport } = openChat();
    for (const resumed of [false, true]) {
      const question = user(crypto.randomUUID(), '[[sim: text="one two three" hangAfterChunks=2]]');
      const stop = new AbortController();
      // A page that was reloaded has the signal of its new stream only: one `stop` cancels once, and is waited for.
      const abortSignal = resumed ? new AbortController().signal : stop.signal;
      const stream = await transport.sendMessages({ ...submit, messages: [question], abortSignal });
      const read = resumed
        ? ((await transport.reconnectToStream({ chatId: "c", abortSignal: stop.signal })) as typeof stream)
        : stream;
      const reader = read.getReader();
      let text = "";
      while (text !== "one two ") {
        const { value } = await reader.read();
        if (value?.type === "text-delta") text += value.delta;
      }
      stop.abort();
      const next = user(crypto.randomUUID(), '[[sim: text="Two"]]');
      const second = await assemble(await transport.sendMessages({ ...submit, messages: [question, next] }));
      expect(textOf(second)).toBe("Two");
      const sessionId = (chat.sessionUrl ?? "").split("/").at(-1) ?? "";
      const stored: UIMessage[] = (await messagesOf(t, agentId, sessionId)).slice(-4);
      expect(stored.map(textOf)).toEqual([textOf(question), "one two ", textOf(next), "Two"]);
    }
  });

  test("a question that is sent while an approval waits keeps the decision from nobody, and both are answered", async () => {
    const asking = await makeAgent({ model }, t, {
      tools: ["memory"],
      approvalInChat: { default: "manual", overrides: [] },
    });
    const { transport } = openChat(asking);
    const chat = new Chat<UIMessage>({ transport, sendAutomaticallyWhen: canGoOn });
    const callOf = () => chat.messages[1]?.parts.find(isToolUIPart);
    await chat.sendMessage({ text: '[[sim: tool=memory_save args={"text":"tea"} ; text="Noted."]]' });
    expect(callOf()?.state).toBe("approval-requested");
    await chat.sendMessage({ text: '[[sim: text="Second."]]' });
    expect(chat.status).toBe("error");
    await chat.addToolApprovalResponse({ id: callOf()?.approval?.id ?? "", approved: true });
    // The question that was refused meanwhile is sent again by itself.
    await eventually(() => chat.status === "ready" && chat.messages.length === 4);
    expect(chat.messages.map(textOf)).toEqual([
      expect.stringContaining("memory_save"),
      "Noted.",
      expect.stringContaining("Second."),
      "Second.",
    ]);
  });

  test("tries again what failed, and what was the first to be said", async () => {
    const { chat, transport } = openChat();
    const retry = { ...submit, trigger: "regenerate-message" as const };
    const failing = transport.sendMessages({ ...submit, messages: [user("u1", "[[sim: fail=401]]")] });
    const broken = readUIMessageStream({ stream: await failing, terminateOnError: true });
    await expect(Array.fromAsync(broken)).rejects.toThrow();
    const again = await assemble(
      await transport.sendMessages({ ...retry, messages: [user("u1", '[[sim: text="Fine"]]')] }),
    );
    expect(textOf(again)).toBe("Fine");
    const stored = await t.call("GET", `${new URL(chat.sessionUrl as string).pathname}/messages`);
    expect(stored.body.data).toHaveLength(2);
    const other = openChat();
    const first = await assemble(
      await other.transport.sendMessages({ ...retry, messages: [user("u1", '[[sim: text="One"]]')] }),
    );
    expect(textOf(first)).toBe("One");
  });
});

test("the README's lines are a chat", async () => {
  const [, shown = ""] =
    /```ts\nimport \{ useChat \}.*\n.*client\/use-chat";\n([\s\S]*?)```/.exec(
      readFileSync(inRepository("README.md"), "utf8"),
    ) ?? [];
  const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
  try {
    const names = ["useChat", "canGoOn", "ParleyChat", "baseUrl", "agentId", "apiKey"];
    const make = new Function(...names, `${shown}\nreturn { chat, parley };`);
    // The hook is made of this.
    const useChat = (options: ConstructorParameters<typeof Chat>[0]) => new Chat(options);
    const baseUrl = `http://127.0.0.1:${server.port}`;
    const { chat, parley } = make(useChat, canGoOn, ParleyChat, baseUrl, agentId, t.token);
    await chat.sendMessage({ text: '[[sim: text="One"]]' });
    expect(chat.messages.map(textOf)).toEqual([expect.anything(), "One"]);
    const reloaded = new ParleyChat({ agentUrl: "", apiKey: t.token, sessionUrl: parley.sessionUrl });
    expect(((await reloaded.load()) as UIMessage[]).map(textOf)).toEqual(chat.messages.map(textOf));
  } finally {
    await server.stop(true);
  }
});
