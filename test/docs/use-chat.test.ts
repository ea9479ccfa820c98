import { describe, expect, test } from "bun:test";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";

const { h, t, agentId } = await useAgent({ worker: true });

/** The transport that the README shows, on this process's service. */
function openChat() {
  const agentUrl = `http://parley.test/v1/agents/${agentId}`;
  const chat = { sessionUrl: null as string | null };
  const transport = new DefaultChatTransport({
    headers: { Authorization: `Bearer ${t.token}` },
    fetch: (async (input: RequestInfo | URL, init?: RequestInit) => {
      const response = await h.app(new Request(input, init));
      const location = response.headers.get("Location");
      if (location !== null) chat.sessionUrl = new URL(location, agentUrl).href;
      return response;
    }) as typeof fetch,
    prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
      api: chat.sessionUrl ?? `${agentUrl}/sessions`,
      body: { message: messages.at(-1), trigger, messageId },
    }),
    prepareReconnectToStreamRequest: () => ({ api: `${chat.sessionUrl}/stream` }),
  });
  return { chat, transport };
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

describe("useChat over DefaultChatTransport", () => {
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
    const slow = user("u1", "[[sim: chunks=20 size=200 delayMs=50]]");
    const sending = transport.sendMessages({ ...submit, messages: [slow] }).then(assemble);
    await eventually(() => chat.sessionUrl !== null);
    const stream = await transport.reconnectToStream({ chatId: "c" });
    const joined = await assemble(stream as ReadableStream<UIMessageChunk>);
    expect(joined).toEqual(await sending);
    expect(await transport.reconnectToStream({ chatId: "c" })).toBeNull();
  });
});
