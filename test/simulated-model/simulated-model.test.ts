/** The simulated model, seen through the AI SDK's own providers and as plain HTTP. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool } from "ai";
import { type RecordedRequest, startSimulatedModel } from "../../src/simulated-model/server.ts";

/** How long a test waits for a condition, in milliseconds. */
const waitMsMax = 20_000;

const server = startSimulatedModel({ chunkDelayMs: 0 });
const keyed = startSimulatedModel({ apiKey: "secret-key-1234" });
afterAll(async () => {
  await server.stop();
  await keyed.stop();
});
beforeEach(() => server.clear());

const compatible = createOpenAICompatible({
  name: "simulated",
  baseURL: server.url,
  apiKey: "abcd-9876",
  includeUsage: true,
});
const openai = createOpenAI({ baseURL: server.url, apiKey: "abcd-9876" });
const providers = {
  "openai-compatible": compatible("simulated/model"),
  "openai chat": openai.chat("simulated/model"),
  "openai responses": openai("simulated/model"),
};

const readTool = tool({
  description: "Reads a file.",
  inputSchema: jsonSchema<{ path: string }>({
    type: "object",
    properties: { path: { type: "string" }, limit: { type: "integer" } },
    required: ["path"],
  }),
  execute: ({ path }) => (path === "secret.txt" ? "The call was denied. Reason: not for you." : `content of ${path}`),
});

function post(content: unknown, more: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "simulated/model", stream: true, messages: [{ role: "user", content }], ...more }),
    signal: signal ?? null,
  });
}

async function recorded(condition: (request: RecordedRequest) => boolean): Promise<RecordedRequest> {
  const end = Date.now() + waitMsMax;
  while (Date.now() < end) {
    const found = server.requests().find(condition);
    if (found !== undefined) return found;
    await new Promise(setImmediate);
  }
  throw new Error(`No such request within ${waitMsMax} ms.`);
}

async function chunksOf(prompt: string): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of streamText({ model: providers["openai-compatible"], prompt }).textStream)
    chunks.push(chunk);
  return chunks;
}

for (const [name, model] of Object.entries(providers)) {
  test(`${name}: a plain message is echoed, streamed and whole alike, with usage`, async () => {
    const streamed = streamText({ model, prompt: "Good morning" });
    const whole = await generateText({ model, prompt: "Good morning" });
    expect(await streamed.text).toContain("“Good morning”");
    expect(whole.text).toBe(await streamed.text);
    expect(await streamed.finishReason).toBe("stop");
    expect(whole.usage.inputTokens).toBe(3);
    expect((await streamed.usage).outputTokens).toBe(whole.usage.outputTokens!);
    expect(whole.usage.outputTokens).toBe(Math.ceil(whole.text.length / 4));
  });

  test(`${name}: two steps of tools, the first with two calls, then an answer that quotes the results`, async () => {
    const prompt =
      '[[sim: text="Let me look." tool=read args={"path":"a]].txt"} tool=read args={"path":"b"} ; tool=read args={"path":"c"}]]';
    const streamed = streamText({ model, prompt, tools: { read: readTool }, stopWhen: isStepCount(5) });
    const steps = await streamed.steps;
    expect(steps.map((step) => step.toolCalls.map((call) => call.input))).toEqual([
      [{ path: "a]].txt" }, { path: "b" }],
      [{ path: "c" }],
      [],
    ]);
    expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "tool-calls", "stop"]);
    expect(steps[0]!.text).toBe("Let me look.");
    const answer = ["a]].txt", "b", "c"].map((path) => `The read tool answered: content of ${path}`).join("\n");
    expect(steps[2]!.text).toBe(answer);
    const whole = await generateText({ model, prompt, tools: { read: readTool }, stopWhen: isStepCount(5) });
    expect(whole.text).toBe(answer);
  });

  test(`${name}: reasoning, finish reason and usage follow the script`, async () => {
    const prompt = '[[sim: reasoning="First I think." text="Then I talk." finish=length inputTokens=7 outputTokens=9]]';
    const streamed = streamText({ model, prompt });
    // The chat provider for OpenAI itself knows no reasoning deltas.
    if (name !== "openai chat") expect(await streamed.reasoningText).toBe("First I think.");
    expect(await streamed.text).toBe("Then I talk.");
    expect(await streamed.finishReason).toBe("length");
    expect(await streamed.usage).toMatchObject({ inputTokens: 7, outputTokens: 9 });
  });

  test(`${name}: an error after two chunks reaches the reader`, async () => {
    const parts: string[] = [];
    const streamed = streamText({ model, prompt: "[[sim: chunks=9 failAfterChunks=2]]", onError: () => {} });
    for await (const part of streamed.stream) parts.push(part.type);
    expect(parts.filter((type) => type === "text-delta")).toHaveLength(2);
    expect(parts).toContain("error");
  });

  test(`${name}: an abort is recorded at once`, async () => {
    const abort = new AbortController();
    const streamed = streamText({ model, prompt: "[[sim: chunks=9 hangAfterChunks=1]]", abortSignal: abort.signal });
    let abortedAt = Number.POSITIVE_INFINITY;
    for await (const part of streamed.stream) {
      if (part.type !== "text-delta") continue;
      abortedAt = Date.now();
      abort.abort();
    }
    const request = await recorded(({ aborted }) => aborted);
    // Nothing else ends it.
    expect(request.finishedAt! - abortedAt).toBeLessThan(10_000);
  });
}

test("plain words call a tool, with the JSON given or with arguments made from its schema", async () => {
  const ask = (prompt: string) =>
    generateText({
      model: providers["openai-compatible"],
      prompt,
      tools: { read: readTool },
      stopWhen: isStepCount(5),
    });
  expect((await ask('Please call the read tool with {"path":"x"}')).text).toBe("The read tool answered: content of x");
  expect((await ask("Use the read tool on notes/today.md, please.")).text).toContain("content of notes/today.md");
  expect((await ask("use the read tool")).text).toContain("content of hello.txt");
  expect((await ask("use the paint tool")).text).toContain("“use the paint tool”");
  expect((await ask("What can you do?")).text).toEndWith("Write “use the read tool” and I call it.");
  expect((await ask("Use the read tool on a.md, then use the read tool on b.md")).text).toBe(
    "The read tool answered: content of a.md\nThe read tool answered: content of b.md",
  );
});

test("a denied call is told with its reason", async () => {
  const { text } = await generateText({
    model: providers["openai-compatible"],
    prompt: '[[sim: tool=read args={"path":"secret.txt"}]]',
    tools: { read: readTool },
    stopWhen: isStepCount(5),
  });
  expect(text).toContain("was denied");
  expect(text).toContain("Reason: not for you.");
});

test("only tools called since the last user message count as steps", async () => {
  const messages: ModelMessage[] = [
    { role: "user", content: "[[sim: tool=read]]" },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: {} }] },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "text", value: "ok" } }],
    },
    { role: "assistant", content: "done" },
    { role: "user", content: '[[sim: tool=read args={"path":"z"}]]' },
  ];
  const { toolCalls } = await generateText({
    model: providers["openai-compatible"],
    messages,
    tools: { read: readTool },
  });
  expect(toolCalls.map((call) => call.input)).toEqual([{ path: "z" }]);
});

test("a script that does not lead or end the message is plain text", async () => {
  expect((await chunksOf("You wrote [[sim: fail=500]] before.")).join("")).toContain("[[sim: fail=500]]");
  expect((await chunksOf('Hey bot [[sim: text="yes"]]')).join("")).toBe("yes");
});

test("chunks are as many as asked, numbered or cut from the text", async () => {
  const many = await chunksOf("[[sim: chunks=2000]]");
  expect(many).toHaveLength(2000);
  expect(many[1999]).toBe("chunk-2000 ");
  expect(await chunksOf('[[sim: chunks=3 text="abcdef"]]')).toEqual(["ab", "cd", "ef"]);
  const large = await chunksOf("[[sim: size=50001]]");
  expect(large.join("")).toHaveLength(50_001);
  expect(large).toHaveLength(51);
});

test("NUL, CR and LF arrive verbatim, and surrogate pairs in halves when asked", async () => {
  expect((await chunksOf(String.raw`[[sim: text="a\u0000b\r\nc\rd"]]`)).join("")).toBe("a\0b\r\nc\rd");
  expect(await chunksOf('[[sim: splitPairs text="x😀y"]]')).toEqual(["x\ud83d", "\ude00y"]);
  expect(await chunksOf('[[sim: chunks=2 text="😀😀"]]')).toEqual(["😀", "😀"]);
});

test("pauses separate the writes; without them the answer is one write", async () => {
  const writes = async (script: string) => {
    const sizes: number[] = [];
    for await (const bytes of (await post(script)).body!) sizes.push(bytes.length);
    return sizes.length;
  };
  // Pauses far longer than a busy machine keeps a reader from reading: two writes in one read would count as one.
  expect(await writes("[[sim: chunks=5 delayMs=700]]")).toBeGreaterThanOrEqual(5);
  expect(await writes("[[sim: chunks=5 delayMs=0]]")).toBe(1);
});

test("fail= answers with its status and Retry-After", async () => {
  const response = await post("[[sim: fail=429 retryAfter=3]]");
  expect(response.status).toBe(429);
  expect(response.headers.get("retry-after")).toBe("3");
  expect(await response.json()).toMatchObject({ error: { type: "rate_limit_error", message: expect.any(String) } });
});

test("cutAfterChunks= drops the connection, streamed and whole", async () => {
  const whole = async (stream: boolean) => (await post("[[sim: chunks=5 cutAfterChunks=2]]", { stream })).text();
  await expect(whole(true)).rejects.toThrow();
  await expect(whole(false)).rejects.toThrow();
});

test("emptyStream ends at once, and usage=none leaves the usage out", async () => {
  expect(await (await post("[[sim: emptyStream]]")).text()).toBe("data: [DONE]\n\n");
  const asked = { stream_options: { include_usage: true } };
  expect(await (await post("hi", asked)).text()).toContain('"usage"');
  expect(await (await post("[[sim: usage=none]]", asked)).text()).not.toContain('"usage"');
  expect(await (await post("hi")).text()).not.toContain('"usage"');
});

test("images are seen, other parts refused", async () => {
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  expect(await (await post([{ type: "text", text: "look" }, picture], { stream: false })).text()).toContain(
    "one picture",
  );
  expect((await post([{ type: "video" }])).status).toBe(400);
});

for (const script of [
  "[[sim: chunks=5",
  "[[sim: colour=red]]",
  "[[sim: chunks=0]]",
  "[[sim: chunks=many]]",
  "[[sim: chunks]]",
  '[[sim: text="open]]',
  "[[sim: text={}]]",
  "[[sim: args={}]]",
  "[[sim: tool=read args={x}]]",
  '[[sim: text="a" size=3]]',
  "[[sim: fail=200]]",
  "[[sim: fail=500 hangAfterChunks=1]]",
  "[[sim: failAfterChunks=1 cutAfterChunks=1]]",
  '[[sim: text="a" ; text="b"]]',
  "[[sim: usage=some]]",
  "[[sim: = ]]",
]) {
  test(`a malformed script is 400: ${script}`, async () => {
    const response = await post(script);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; type: string } };
    expect(error.type).toBe("invalid_request_error");
    expect(error.message).toStartWith("Script error");
  });
}

test("a malformed request is 400, an unknown path 404, a wrong key 401", async () => {
  const raw = (body: string) => fetch(`${server.url}/chat/completions`, { method: "POST", body });
  expect((await raw("{")).status).toBe(400);
  expect((await raw('{"model":"x","messages":[]}')).status).toBe(400);
  expect((await raw('{"messages":[{"role":"user","content":"x"}]}')).status).toBe(400);
  expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
  expect((await fetch(`${keyed.url}/models`)).status).toBe(401);
  const listed = await fetch(`${keyed.url}/models`, { headers: { authorization: "Bearer secret-key-1234" } });
  expect(await listed.json()).toMatchObject({ object: "list", data: [{ object: "model" }, { object: "model" }] });
});

test("requests are recorded without their credential, a thousand at most, and read and cleared over HTTP", async () => {
  await generateText({ model: providers["openai-compatible"], prompt: "remember" });
  // Its end is written down when its response has been closed, which its reader may learn of first.
  await recorded(({ finishedAt }) => finishedAt !== null);
  const [request] = server.requests();
  expect(request).toMatchObject({ path: "/v1/chat/completions", aborted: false, body: { model: "simulated/model" } });
  expect(request!.headers.authorization).toBe("…9876");
  expect(request!.finishedAt).toBeGreaterThanOrEqual(request!.at);
  for (let round = 0; round < 11; round += 1) {
    const posts = Array.from({ length: 100 }, () => post("hi").then((response) => response.text()));
    await Promise.all(posts);
  }
  const control = `http://127.0.0.1:${server.port}/requests`;
  expect((await (await fetch(control)).json()) as unknown[]).toHaveLength(1000);
  expect((await fetch(control, { method: "DELETE" })).status).toBe(204);
  expect(server.requests()).toEqual([]);
});

test("stamped chunks tell when each was sent", async () => {
  const from = Date.now();
  const chunks = await chunksOf("[[sim: chunks=3 delayMs=20 stamped]]");
  const moments = chunks.map((chunk) => Number(/^chunk-\d@(\d+) $/.exec(chunk)?.[1]));
  expect(moments).toHaveLength(3);
  expect(moments[0]).toBeGreaterThanOrEqual(from);
  expect(moments[2]! - moments[0]!).toBeGreaterThanOrEqual(30);
  expect(moments[2]).toBeLessThanOrEqual(Date.now());
});
