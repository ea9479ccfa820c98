import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { toolFileBytesMax, turnFilesBytesMax } from "../../../src/kernel/limits.ts";
import { assembled } from "../../harness/assembled.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, type Played, play } from "../../harness/turns.ts";
import { McpServer, textTool } from "../../servers/mcp.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";
import { type VendorWords, vendorWords } from "../../servers/vendor-answers.ts";

const { h, t } = await useTenant({ worker: true });

const png = Buffer.from("\x89PNG\r\n\x1a\nand what follows", "latin1").toString("base64");
const wav = Buffer.from("RIFF....WAVEfmt ").toString("base64");
const both = [
  { type: "text", text: "Here it is." },
  { type: "image", data: png, mimeType: "image/png" },
  { type: "audio", data: wav, mimeType: "audio/wav" },
];

const mcp = new McpServer();
mcp.settings.tools = [textTool("draw")];
let words: VendorWords = vendorWords.custom;
/** What the vendor says instead; null: it calls the tool, and then says that it saw. */
let instead: (request: VendorRequest) => Response | null = () => null;
const asked: VendorRequest[] = [];
const vendor = startVendor((request) => {
  // There is no list of models.
  if (request.body === null) return new Response("no", { status: 404 });
  asked.push(request);
  return instead(request) ?? (words.isAnswered(request) ? words.text("Seen.") : words.call("m__draw"));
});
afterAll(() => Promise.all([vendor.stop(), mcp.stop()]));

const connected = await t.call("POST", "/v1/mcp-connections", {
  body: { name: "m", url: mcp.url, authType: "none" },
});
beforeEach(() => {
  asked.splice(0);
  instead = () => null;
  mcp.settings.onCall = () => ({ content: both });
});

const providers = new Map<string, Promise<{ readonly id: string }>>();

async function agentOn(providerType: keyof typeof vendorWords, mode: "full" | "manual" = "full"): Promise<string> {
  words = vendorWords[providerType];
  const made = () => makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
  const provider = providers.get(providerType) ?? made();
  providers.set(providerType, provider);
  return makeAgent(h, t, {
    providerId: (await provider).id,
    model: "m",
    mcpConnectionIds: [connected.body.id],
    approvalInChat: { default: mode, overrides: [] },
  });
}

const filesIn = (chunks: readonly { readonly type: string }[]) => chunks.filter(({ type }) => type === "file");
const outputOf = ({ chunks }: Played) => chunks.find(({ type }) => type === "tool-output-available")?.output as string;
const lastRequest = () => JSON.stringify(asked.at(-1)?.body);

const picture = {
  anthropic: { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
  google: { inlineData: { mimeType: "image/png", data: png } },
  openrouter: { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
} as const;

describe("a picture and a sound in a tool's result", () => {
  test.each(Object.keys(picture) as (keyof typeof picture)[])(
    "reach the model of %s, in this turn and in the next",
    async (providerType) => {
      const agentId = await agentOn(providerType);
      const played = await play(t, agentId, null, { message: userMessage("Draw.") });
      expect(played.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
      const sentThen = lastRequest();
      expect(sentThen).toContain(JSON.stringify(picture[providerType]));
      expect(sentThen).toContain("Here it is.");
      expect(sentThen.includes(wav)).toBe(providerType !== "anthropic");
      expect(sentThen.includes("You are not")).toBe(providerType === "anthropic");

      await play(t, agentId, played.sessionId, { message: userMessage("And now?") });
      const again = asked.find((request) => JSON.stringify(request.body).includes("And now?"));
      const sent = JSON.stringify(again?.body);
      expect(sent.split(png)).toHaveLength(2);
      expect(sent).toContain(JSON.stringify(picture[providerType]));
    },
  );

  test.each(["custom", "openai"] as const)(
    "are told in words to a model of %s, whose API takes text alone there",
    async (providerType) => {
      const agentId = await agentOn(providerType);
      const played = await play(t, agentId, null, { message: userMessage("Draw.") });
      expect(filesIn(played.chunks)).toHaveLength(2);
      await play(t, agentId, played.sessionId, { message: userMessage("And now?") });
      for (const { body } of asked.slice(1)) {
        const [result] = body.messages.filter(({ role }: { role: string }) => role === "tool");
        expect(result.content).toBe(
          "Here it is.\n[image, image/png, 24 bytes]\n[audio, audio/wav, 16 bytes]\n" +
            "[The person is shown these files. You are not: your provider does not take files of these types in a tool's result.]",
        );
        expect(JSON.stringify(body)).not.toContain(png);
      }
    },
  );

  test("reach the reader as file parts that are stored with the answer, before the call's output, which is text", async () => {
    const agentId = await agentOn("custom");
    for (const form of ["a", "b"] as const) {
      const played = await play(t, agentId, null, { message: userMessage("Draw.") }, { form });
      const { toolCallId } = played.chunks.find(({ type }) => type === "tool-input-available") as {
        toolCallId?: string;
      };
      const providerMetadata = { parley: { toolCallId } };
      const files = [
        { type: "file", mediaType: "image/png", url: `data:image/png;base64,${png}`, providerMetadata },
        { type: "file", mediaType: "audio/wav", url: `data:audio/wav;base64,${wav}`, providerMetadata },
      ];
      const types = played.chunks.map(({ type }) => type);
      expect(types.indexOf("file")).toBeLessThan(types.indexOf("tool-output-available"));
      expect(filesIn(played.chunks)).toEqual(files as never);
      expect(outputOf(played)).toBe("Here it is.\n[image, image/png, 24 bytes]\n[audio, audio/wav, 16 bytes]");
      const stored = (await messagesOf(t, agentId, played.sessionId)).at(-1);
      expect(filesIn(stored.parts)).toEqual(files as never);
      expect(await assembled(played.chunks)).toEqual(stored);
    }
  });

  test("that a model refuses are told to it in words, once a turn, so that a session stays usable", async () => {
    const agentId = await agentOn("anthropic");
    instead = ({ body }) =>
      JSON.stringify(body).includes(png)
        ? Response.json({ type: "error", error: { type: "invalid_request_error", message: "no" } }, { status: 400 })
        : null;
    const played = await play(t, agentId, null, { message: userMessage("Draw.") });
    expect(played.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    expect(asked).toHaveLength(3);
    expect(lastRequest()).toContain("You are not");
    const next = await play(t, agentId, played.sessionId, { message: userMessage("And now?") });
    expect(next.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
  });

  test("wait for a person's decision like any result, and reach the model that goes on", async () => {
    const agentId = await agentOn("anthropic", "manual");
    const first = await play(t, agentId, null, { message: userMessage("Draw.") });
    const path = `/v1/agents/${agentId}/sessions/${first.sessionId}`;
    const waiting = (await messagesOf(t, agentId, first.sessionId)).at(-1);
    const parts = waiting.parts.map((part: { state?: string; approval?: object }) =>
      part.state === "approval-requested"
        ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
        : part,
    );
    const done = await t.call("POST", path, { body: { message: { ...waiting, parts }, stream: false } });
    expect([done.status, filesIn(done.body.message?.parts ?? [])]).toMatchObject([200, [{}, {}]]);
    expect(lastRequest()).toContain(JSON.stringify(picture.anthropic));
    await play(t, agentId, first.sessionId, { message: userMessage("And now?") });
    expect(lastRequest().split(png).length).toBeGreaterThan(1);
  });
});

describe("bounds", () => {
  const image = (bytes: number) => ({
    type: "image",
    mimeType: "image/png",
    data: Buffer.alloc(bytes, 1).toString("base64"),
  });

  test("a picture of more than 3 MiB is told in words, one of 3 MiB is shown", async () => {
    const agentId = await agentOn("custom");
    mcp.settings.onCall = () => ({ content: [image(toolFileBytesMax)] });
    const shown = await play(t, agentId, null, { message: userMessage("Draw.") });
    expect(filesIn(shown.chunks)).toHaveLength(1);
    mcp.settings.onCall = () => ({ content: [image(toolFileBytesMax + 1)] });
    const told = await play(t, agentId, null, { message: userMessage("Draw.") });
    expect([filesIn(told.chunks).length, outputOf(told)]).toEqual([
      0,
      "[image, image/png, 3145729 bytes, not shown: it has more than 3145728 bytes]",
    ]);
  });

  test("what the tools of one turn return beyond 5 MiB, or as the 21st file, is left out, and said", async () => {
    const agentId = await agentOn("custom");
    let steps = 0;
    const draw = async (tries: number, content: readonly ReturnType<typeof image>[]) => {
      steps = 0;
      mcp.settings.onCall = () => ({ content });
      instead = (request) => (words.isAnswered(request) && ++steps < tries ? words.call("m__draw") : null);
      return play(t, agentId, null, { message: userMessage("Draw.") });
    };
    const large = await draw(2, [image(Math.floor(turnFilesBytesMax / 2) + 1)]);
    const outputs = large.chunks.flatMap(({ type, output }) => (type === "tool-output-available" ? [output] : []));
    expect([filesIn(large.chunks).length, outputs.length]).toEqual([1, 2]);
    expect(outputs[1]).toEndWith("left out: the tools of one turn return at most 20 with 5 MiB together.]");
    const many = await draw(
      1,
      Array.from({ length: 21 }, () => image(10)),
    );
    expect(filesIn(many.chunks)).toHaveLength(20);
    expect(outputOf(many)).toContain("[The last 1 of these files are left out");
  });

  test("what is no picture and no sound, is empty, or belongs to a failure is told in words; links and texts are text", async () => {
    const agentId = await agentOn("custom");
    mcp.settings.onCall = () => ({
      content: [
        { type: "resource", resource: { uri: "demo://a", mimeType: "text/plain", text: "A text." } },
        { type: "resource", resource: { uri: "demo://b", mimeType: "application/zip", blob: "UEs=" } },
        { type: "resource", resource: { uri: "demo://c", mimeType: "image/png", blob: png } },
        { type: "resource_link", uri: "demo://d", name: "d", description: "The fourth", mimeType: "text/plain" },
        { type: "image", mimeType: "image/png", data: "" },
        { type: "image", mimeType: "text/html", data: png },
        { type: "image", mimeType: "image/jpeg", data: png },
      ],
    });
    const played = await play(t, agentId, null, { message: userMessage("Draw.") });
    expect(outputOf(played).split("\n")).toEqual([
      "A text.",
      "[file demo://b, application/zip, 2 bytes, not shown: only pictures and sounds are]",
      "[file demo://c, image/png, 24 bytes]",
      "[d](demo://d) (text/plain, The fourth)",
      "[image, image/png, 0 bytes, not shown: it is empty]",
      "[image, text/html, 24 bytes, not shown: only pictures and sounds are]",
      "[image, image/jpeg, 24 bytes]",
    ]);
    // By its first bytes the last one is a PNG, whatever its server says.
    expect(filesIn(played.chunks)).toMatchObject([{ mediaType: "image/png" }, { mediaType: "image/png" }] as never);

    mcp.settings.onCall = () => ({ content: both, isError: true });
    const failed = await play(t, agentId, null, { message: userMessage("Draw.") });
    expect(filesIn(failed.chunks)).toEqual([]);
    expect(failed.chunks.find(({ type }) => type === "tool-output-error")?.errorText).toContain("Here it is.");
  });
});
