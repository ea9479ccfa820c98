import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { listen } from "../../../src/kernel/runtime.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { LiveStream, messagesOf, play, readersOf, requestsOf, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { tools: ["memory"] } });
const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
const origin = `http://127.0.0.1:${server.port}`;
afterAll(() => server.stop(true));

const cancel = (sessionId: string) => t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
const headers = () => ({ authorization: `Bearer ${t.token}`, "content-type": "application/json" });
const post = (path: string, body: object, signal?: AbortSignal) =>
  fetch(`${origin}${path}`, {
    method: "POST",
    headers: headers(),
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });

/** The AI SDK's transport as an application sets it up, on a real connection. */
class Chat {
  sessionId: string | null = null;
  readonly #agentId: string;

  constructor(agent: string = agentId) {
    this.#agentId = agent;
  }

  readonly transport = new DefaultChatTransport<UIMessage>({
    headers: () => ({ authorization: `Bearer ${t.token}` }),
    fetch: (async (input: string | URL | Request, init?: RequestInit) => {
      const response = await fetch(input, init);
      this.sessionId ??= response.headers.get("location")?.split("/").at(-1) ?? null;
      return response;
    }) as typeof fetch,
    prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
      api: `${origin}${sessionPath(this.#agentId, this.sessionId)}`,
      body: { message: messages.at(-1), trigger, messageId },
    }),
    prepareReconnectToStreamRequest: () => ({
      api: `${origin}${sessionPath(this.#agentId, this.sessionId, "/stream")}`,
    }),
  });

  send(messages: UIMessage[], trigger: "submit-message" | "regenerate-message" = "submit-message", messageId?: string) {
    return this.transport.sendMessages({ chatId: "chat", trigger, messageId, messages, abortSignal: undefined });
  }
}

/** The message that the AI SDK makes of a stream. */
async function assemble(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let last: UIMessage | null = null;
  for await (const message of readUIMessageStream<UIMessage>({ stream, terminateOnError: true })) last = message;
  if (last === null) throw new Error("The stream made no message.");
  return last;
}

describe("the AI SDK's transport on a real connection", () => {
  test.each([
    ["text", 'text="Hello there you" chunks=3'],
    ["reasoning and text", 'reasoning="let me think" text="done"'],
    ["reasoning only", 'reasoning=hm text=""'],
    ["a tool's result, then text", 'tool=memory_save args={"text":"likes tea"} text="I will note it."; text="Noted."'],
    [
      "two tools in one step, one of which fails",
      'tool=memory_save args={"text":"a"} tool=memory_update args={"memoryId":"x","text":"y"}; reasoning=hm text="Done."',
    ],
    [
      "a tool that does not exist, and input it does not take",
      'tool=nothing; tool=memory_save args={"wrong":1}; text=fine',
    ],
    ["pairs, CR LF, NUL", 'text="a😀\\r\\n\\u0000 b" splitPairs'],
  ])("assembles the stored message: %s", async (_what, settings) => {
    const chat = new Chat();
    const question = script(settings) as UIMessage;
    const answer = await assemble(await chat.send([question]));
    const stored = await messagesOf(t, agentId, chat.sessionId as string);
    expect(stored).toEqual([question, JSON.parse(JSON.stringify(answer))]);
    const next = script("text=next") as UIMessage;
    const second = await assemble(await chat.send([question, answer, next]));
    expect(await messagesOf(t, agentId, chat.sessionId as string)).toEqual([...stored, next, second]);
  });

  test("regenerates with what the SDK sends along, and reconnects to a running turn from its start", async () => {
    await using held = holdModel(h.model);
    const agent = await makeAgent({ model: held }, t);
    const chat = new Chat(agent);
    const question = script('text="one two three"') as UIMessage;
    const first = await assemble(await chat.send([question]));
    const again = await assemble(await chat.send([question], "regenerate-message", first.id));
    expect(again.id).not.toBe(first.id);
    expect(await messagesOf(t, agent, chat.sessionId as string)).toEqual([question, again]);
    const reconnect = () => chat.transport.reconnectToStream({ chatId: "chat" });
    expect(await reconnect()).toBeNull();

    const long = `${"one more ".repeat(60)}${heldMark}`;
    const stream = await chat.send([question, again, script(`text="${long}" chunks=60 delayMs=1`) as UIMessage]);
    const joined = (await reconnect()) as ReadableStream<UIMessageChunk>;
    held.release();
    const [one, two] = await Promise.all([assemble(stream), assemble(joined)]);
    expect(two).toEqual(one);
    expect((await messagesOf(t, agent, chat.sessionId as string)).at(-1)).toEqual(one);
  });

  test("a turn that fails is an error of the stream; a refused one is an error of the request", async () => {
    const chat = new Chat();
    const failing = await chat.send([script('text="one two" failAfterChunks=1') as UIMessage]);
    await expect(assemble(failing)).rejects.toThrow("The model provider failed.");
    const refused = chat.send([{ ...script("text=a"), role: "system" } as unknown as UIMessage]);
    await expect(refused).rejects.toThrow();
  });
});

test("a host of one letter is a host", async () => {
  const response = await h.app(new Request(`http://x${sessionPath(agentId, null)}?limit=1`, { headers: headers() }));
  expect(response.status).toBe(200);
  const query = await h.app(new Request("http://x/healthz"));
  expect(query.status).toBe(200);
});

describe("a client that goes away", () => {
  test("is noticed within 5 s although its turn is quiet; the turn goes on", async () => {
    const message = script('text="one two three" hangAfterChunks=1');
    const gone = new AbortController();
    const response = await post(sessionPath(agentId, null), { message }, gone.signal);
    const live = new LiveStream(response);
    await live.until("text-delta");
    const sessionId = live.sessionId;
    await eventually(async () => (await readersOf(h)) === 1);
    gone.abort();
    await eventually(async () => (await readersOf(h)) === 0);
    expect((await fetch(`${origin}${sessionPath(agentId, sessionId, "/stream")}`, { headers: headers() })).status).toBe(
      200,
    );
    await cancel(sessionId);
    await eventually(async () => (await readersOf(h)) === 0);
  });

  test("is noticed within 5 s when it waits for JSON, and when its socket breaks off in the middle of a long answer", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    const message = script('text="one two" hangAfterChunks=1');
    const gone = new AbortController();
    const waiting = post(sessionPath(agentId, sessionId), { message, stream: false }, gone.signal).catch(() => null);
    await eventually(async () => requestsOf(h, message).length === 1 && (await readersOf(h)) === 1);
    gone.abort();
    await waiting;
    await eventually(async () => (await readersOf(h)) === 0);
    await cancel(sessionId);

    const body = JSON.stringify({ message: script("size=8000000") });
    const socket = connect(server.port, "127.0.0.1");
    socket.write(
      `POST ${sessionPath(agentId, null)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${t.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => socket.once("data", resolve));
    socket.pause();
    await eventually(async () => (await readersOf(h)) === 1);
    socket.destroy();
    await eventually(async () => (await readersOf(h)) === 0);
  });

  test("leaves the others alone", async () => {
    // Far longer than the test needs: it is cancelled once the others have seen more.
    const message = script("chunks=8000 delayMs=5");
    const live = new LiveStream(await post(sessionPath(agentId, null), { message }));
    const { sessionId } = live;
    const path = `${origin}${sessionPath(agentId, sessionId, "/stream")}`;
    const leavers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const gone = new AbortController();
        const stream = new LiveStream(await fetch(path, { headers: headers(), signal: gone.signal }));
        await stream.until("text-delta");
        return gone;
      }),
    );
    const stays = new LiveStream(await fetch(path, { headers: headers() }));
    for (const gone of leavers) gone.abort();
    for (const stream of [live, stays]) await stream.until("text-delta");
    await eventually(async () => (await readersOf(h)) === 2);
    await cancel(sessionId);
    const [one, two] = await Promise.all([live.rest(), stays.rest()]);
    expect(two).toEqual(one);
    expect(two.at(-1)?.data).toBe("[DONE]");
    await eventually(async () => (await readersOf(h)) === 0);
  });
});

describe("a quiet turn", () => {
  const quietMs = 12_500;

  test.concurrent("keeps its stream open, with a comment at least every 15 s", async () => {
    const message = script(`text="one two" chunks=2 delayMs=${quietMs}`);
    const live = new LiveStream(await post(sessionPath(agentId, null), { message }));
    await live.until("text-delta");
    await live.until("text-delta");
    expect(live.pings).toBeGreaterThanOrEqual(1);
    expect((await live.rest()).at(-1)?.data).toBe("[DONE]");
  });

  test.concurrent("keeps a JSON response's connection open", async () => {
    const message = script(`text="one two" firstDelayMs=${quietMs}`);
    const response = await post(sessionPath(agentId, null), { message, stream: false });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ message: { role: "assistant" } });
  });
});
