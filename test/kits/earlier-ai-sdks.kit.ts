/**
 * Versions 5 and 6 of the AI SDK as readers: every kind of stream through their own `DefaultChatTransport` and
 * `readUIMessageStream`, and the message that they make of it against the one that is stored.
 * `npm run test:kits` fetches both and runs this.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { UIMessage, UIMessageChunk } from "ai";
import { eventStream } from "../harness/anthropic-events.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { messagesOf, script, sessionPath } from "../harness/turns.ts";
import { undecided } from "../harness/undecided.ts";
import { type VendorStream, vendorStreams } from "../harness/vendor-streams.ts";
import { McpServer, textResult, textTool } from "../servers/mcp.ts";
import { startVendor } from "../servers/vendor.ts";
import { fetchPackages } from "./fetch-kit.ts";

/** What both versions have, as far as it is used here. */
interface Sdk {
  readonly DefaultChatTransport: new (
    options: object,
  ) => {
    sendMessages(options: object): Promise<ReadableStream<UIMessageChunk>>;
    reconnectToStream(options: object): Promise<ReadableStream<UIMessageChunk> | null>;
  };
  readonly readUIMessageStream: (options: {
    readonly stream: ReadableStream<UIMessageChunk>;
    readonly message?: UIMessage;
    readonly onError: (error: unknown) => void;
  }) => AsyncIterable<UIMessage>;
}

const versions = await Promise.all(
  ["5.0.277", "6.0.326"].map(async (version) => {
    const kit = await fetchPackages(`ai-${version}`, { dependencies: { ai: version, zod: "4.6.7" } });
    const sdk: Sdk = await import(join(kit, "node_modules", "ai", "dist", "index.mjs"));
    return [version, sdk] as const;
  }),
);
const [five, six] = versions.map(([, sdk]) => sdk) as [Sdk, Sdk];

const { h, t } = await useTenant({ worker: true });
const mcp = new McpServer();
let answer = "";
const vendor = startVendor(({ body }) =>
  body === null ? new Response("no", { status: 404 }) : new Response(answer, eventStream),
);
afterAll(async () => {
  await vendor.stop();
  await mcp.stop();
});

const locate = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" as const } };
mcp.settings.tools = [textTool("slow")];
mcp.settings.onCall = async ({ report }) => {
  await report(1, 2, "half");
  return textResult("done");
};
const connection = await t.call("POST", "/v1/mcp-connections", {
  body: { name: "srv", url: mcp.url, authType: "none" },
});
const agentId = await makeAgent(h, t, {
  tools: ["memory"],
  clientTools: [locate],
  mcpConnectionIds: [connection.body.id],
});
const denying = await makeAgent(h, t, {
  tools: ["memory"],
  approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mode: "deny" }] },
});
const asking = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });

const vendorAgents = new Map<string, string>();
async function agentOf({ providerType }: VendorStream): Promise<string> {
  const known = vendorAgents.get(providerType);
  if (known !== undefined) return known;
  const provider = await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
  const made = await makeAgent(h, t, { providerId: provider.id, model: "m" });
  vendorAgents.set(providerType, made);
  return made;
}

/** One chat with an agent, by a version of the SDK. */
class Chat {
  /** Errors that the reader was told of. */
  readonly errors: string[] = [];
  sessionId = "";
  readonly #sdk: Sdk;
  readonly #agent: string;
  readonly #transport: InstanceType<Sdk["DefaultChatTransport"]>;

  constructor(sdk: Sdk, agent: string) {
    this.#sdk = sdk;
    this.#agent = agent;
    const url = (rest = "") => `http://parley.test${sessionPath(agent, this.sessionId || null, rest)}`;
    this.#transport = new sdk.DefaultChatTransport({
      headers: { authorization: `Bearer ${t.token}` },
      fetch: async (input: string, init: RequestInit) => {
        const response = await h.app(new Request(input, init));
        this.sessionId ||= response.headers.get("location")?.split("/").at(-1) ?? "";
        return response;
      },
      prepareSendMessagesRequest: ({ messages }: { messages: UIMessage[] }) => ({
        api: url(),
        body: { message: messages.at(-1) },
      }),
      prepareReconnectToStreamRequest: () => ({ api: url("/stream") }),
    });
  }

  send(message: object): Promise<ReadableStream<UIMessageChunk>> {
    return this.#transport.sendMessages({ chatId: "c", trigger: "submit-message", messages: [message] });
  }

  join(): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#transport.reconnectToStream({ chatId: "c" });
  }

  /** Returns the message that the version makes of a stream, which goes on with `message`. */
  async read(stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<UIMessage> {
    let last = message;
    const onError = (error: unknown) => void this.errors.push(String(error));
    const begun = message === undefined ? {} : { message };
    for await (const read of this.#sdk.readUIMessageStream({ stream, onError, ...begun })) last = read;
    return withInputs(JSON.parse(JSON.stringify(last)));
  }

  async ask(message: object): Promise<UIMessage> {
    return this.read(await this.send(message));
  }

  /** Returns the stored message, once the turn has ended or waits for a person. */
  async stored(): Promise<UIMessage> {
    await eventually(async () => {
      const rows = await h.sql`
        select 1 from turns where session_id = ${this.sessionId} and status in ('queued', 'running')`;
      return rows.length === 0;
    });
    return (await messagesOf(t, this.#agent, this.sessionId)).at(-1);
  }

  async cancel(keep: "partial" | "nothing"): Promise<void> {
    await t.call("POST", sessionPath(this.#agent, this.sessionId, "/cancel"), { body: { keep } });
  }
}

/** Returns a message with the input of each call in its place: both versions keep that of a call that could not be made as `rawInput`. */
function withInputs(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) => {
    const { rawInput, ...rest } = part as { readonly rawInput?: unknown };
    return rawInput === undefined ? part : { ...rest, input: rawInput };
  });
  return { ...message, parts } as UIMessage;
}

describe.each(versions)("ai %s", (_version, sdk) => {
  test.each(vendorStreams.map((stream) => [stream.vendor, stream] as const))("reads %s", async (_vendor, stream) => {
    const chat = new Chat(sdk, await agentOf(stream));
    answer = stream.text;
    const read = await chat.ask(userMessage("x"));
    expect(chat.errors).toEqual([]);
    expect(read).toEqual(await chat.stored());
  });

  test.each([
    ["a text", 'text="one two three"'],
    ["thoughts and a text", 'reasoning="hm" text="said"'],
    ["a tool's call", 'tool=memory_save args={"text":"tea"}; text="Noted."'],
    ["a tool that fails", 'tool=memory_save args={}; text="Sorry."'],
    ["a tool that nobody has", 'tool=nothing args={}; text="Sorry."'],
    ["a tool that tells how far it is", 'tool=srv__slow args={}; text="Done."'],
    [
      "two calls at once",
      'tool=memory_save args={"text":"tea"} tool=memory_search args={"query":"tea"}; text="Noted."',
    ],
    ["a client's tool", 'tool=locate args={}; text="There."'],
  ])("reads %s", async (_what, said) => {
    const chat = new Chat(sdk, agentId);
    const read = await chat.ask(script(said));
    expect(chat.errors).toEqual([]);
    expect(read).toEqual(await chat.stored());
    expect(read.parts.length).toBeGreaterThan(1);
  });

  test("goes on after a client's tool has its result", async () => {
    const chat = new Chat(sdk, agentId);
    const called = await chat.ask(script('tool=locate args={}; text="There."'));
    const parts = called.parts.map((part) =>
      part.type === "tool-locate" ? { ...part, state: "output-available", output: { city: "Lisbon" } } : part,
    );
    const answered = { ...called, parts } as UIMessage;
    const read = await chat.read(await chat.send(answered), answered);
    expect(chat.errors).toEqual([]);
    expect(read).toEqual(await chat.stored());
    expect(JSON.stringify(read.parts)).toContain("There.");
  });

  test("is told of an error", async () => {
    const chat = new Chat(sdk, agentId);
    await chat.read(await chat.send(script("fail=401")));
    expect(chat.errors).toEqual(["Error: The model provider answered with status 401."]);
  });

  test("reads an answer that breaks off, and is told so", async () => {
    const chat = new Chat(sdk, agentId);
    const read = await chat.ask(script('text="one two three" chunks=3 failAfterChunks=2'));
    expect(chat.errors.length).toBeLessThanOrEqual(1);
    expect(JSON.stringify(read.parts)).toContain("one");
  });

  test.each([
    ["a text", 'text="one two three" hangAfterChunks=2'],
    ["thoughts", 'reasoning="one two three" hangAfterChunks=2'],
    ["a call's input", 'tool=memory_save args={"text":"one two three four five six"} hangAfterChunks=2'],
    ["a later step", 'tool=memory_save args={"text":"a"}; text="one two three" hangAfterChunks=2'],
  ])("reads what was stopped within %s, from its beginning too", async (_where, said) => {
    const chat = new Chat(sdk, agentId);
    const reading = chat.ask(script(said));
    await eventually(async () => {
      const shown = await h.sql`
        select 1 from turns where session_id = ${chat.sessionId} and status = 'running' and shown_at is not null`;
      return shown.length > 0;
    });
    const joined = chat.read((await chat.join()) as ReadableStream<UIMessageChunk>);
    await chat.cancel("partial");
    const [read, readAgain] = await Promise.all([reading, joined]);
    expect(chat.errors).toEqual([]);
    const stored = await chat.stored();
    expect([read, readAgain]).toEqual([stored, stored]);
    expect(await chat.join()).toBeNull();
  });
});

describe("approvals", () => {
  test("version 6 decides and goes on in the same message", async () => {
    for (const approved of [true, false]) {
      const chat = new Chat(six, asking);
      const asked = await chat.ask(script('tool=memory_save args={"text":"tea"}; text="Well."'));
      expect(asked).toEqual(await chat.stored());
      const parts = asked.parts.map((part) =>
        "approval" in part
          ? { ...part, state: "approval-responded", approval: { id: part.approval?.id, approved } }
          : part,
      );
      const decided = { ...asked, parts } as UIMessage;
      const read = await chat.read(await chat.send(decided), decided);
      expect(chat.errors).toEqual([]);
      expect(undecided(read)).toEqual(undecided(await chat.stored()));
      expect(JSON.stringify(read.parts)).toContain("Well.");
    }
  });

  test("version 6 reads a call that the agent's policy denies", async () => {
    const chat = new Chat(six, denying);
    const read = await chat.ask(script('tool=memory_save args={"text":"tea"}; text="Well."'));
    expect(chat.errors).toEqual([]);
    expect(undecided(read)).toEqual(undecided(await chat.stored()));
  });

  test("version 5 has none: its stream ends with an error at the first one", async () => {
    const chat = new Chat(five, asking);
    const read = await chat.ask(script('tool=memory_save args={"text":"tea"}; text="Well."'));
    expect(chat.errors).toHaveLength(1);
    expect(read.parts.at(-1)).toMatchObject({ type: "tool-memory_save", state: "input-available" });
  });

  test.each(versions)(
    "version %s gives a stream up in which a chunk says what a person decided",
    async (version, sdk) => {
      const said = (type: string) => `data: ${JSON.stringify({ type, approvalId: "apr_1", approved: false })}\n\n`;
      const transport = new sdk.DefaultChatTransport({
        fetch: async () =>
          new Response(`data: {"type":"start"}\n\n${said("tool-approval-response")}data: [DONE]\n\n`, {
            headers: { "content-type": "text/event-stream" },
          }),
        api: "http://parley.test",
      });
      const stream = await transport.sendMessages({
        chatId: "c",
        trigger: "submit-message",
        messages: [userMessage("x")],
      });
      expect([version, await Array.fromAsync(stream).catch((error) => error.name)]).toEqual([
        version,
        "AI_TypeValidationError",
      ]);
    },
  );
});
