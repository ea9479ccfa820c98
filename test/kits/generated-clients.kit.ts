/**
 * Clients that other people's generators make from this service's OpenAPI document: the programs of docs/client.md,
 * checked by TypeScript and run with nothing of ours but the URL and a key. `npm run test:kits` fetches the generators and
 * runs this.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { listen } from "../../src/kernel/runtime.ts";
import { namedBlocks } from "../harness/browser.ts";
import { useAgent } from "../harness/fixture.ts";
import { inRepository } from "../harness/repository.ts";
import { fetchPackages } from "./fetch-kit.ts";

const kit = await fetchPackages("generated-clients", {
  dependencies: {
    "@hey-api/openapi-ts": "0.99.0",
    "@types/node": "24.10.1",
    "openapi-fetch": "0.17.0",
    "openapi-typescript": "7.13.0",
    // The generators write code by the compiler of TypeScript 5; 7 has none that a program can call.
    typescript: "5.9.3",
  },
});
/** Making a client, checking it and running it, on a busy machine. */
const slowMs = 180_000;

const { h, t, agentId } = await useAgent({ worker: true });
const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
const url = `http://127.0.0.1:${server.port}`;
const folder = await mkdtemp(join(tmpdir(), "parley-clients-"));
afterAll(async () => {
  await server.stop(true);
  await rm(folder, { recursive: true });
});

const programs = namedBlocks(await readFile(inRepository("docs/client.md"), "utf8"));
await symlink(join(kit, "node_modules"), join(folder, "node_modules"));
await writeFile(join(folder, "package.json"), '{ "type": "module" }');
await writeFile(join(folder, "openapi.json"), await (await fetch(`${url}/openapi.json`)).text());

/** Runs a program in the folder; returns its lines, or what it says of what is wrong. */
async function run(file: string, ...words: string[]): Promise<string[]> {
  const env = { PATH: process.env.PATH ?? "", PARLEY_URL: url, PARLEY_API_KEY: t.token, AGENT_ID: agentId };
  const said = promisify(execFile)(process.execPath, [file, ...words], { cwd: folder, env });
  const { stdout } = await said.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(error.stdout + error.stderr);
  });
  return stdout.trim().split("\n");
}

/** Checks a file with the strict rules of TypeScript. */
async function check(file: string, code: string): Promise<void> {
  await writeFile(join(folder, file), code);
  const options = {
    ...{ strict: true, noUncheckedIndexedAccess: true, noEmit: true, skipLibCheck: true },
    ...{ target: "esnext", module: "esnext", moduleResolution: "bundler", types: ["node"] },
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: [file] }));
  await run("node_modules/typescript/bin/tsc", "-p", ".");
}

const conversation = [
  "answer: one two (stop)",
  "stream: three",
  "assistant: one two",
  `user: [[sim: text="three"]]`,
  "assistant: three",
  `user: [[sim: text="one two"]]`,
  "turn: succeeded, true",
  "turn: succeeded, true",
  "error: not_found",
];
/** The program of the page; what it says is a script of the simulated model. */
const programOf = (name: string) =>
  (programs[name] ?? "")
    .replace('"Say hello."', JSON.stringify('[[sim: text="one two"]]'))
    .replace('"And again."', JSON.stringify('[[sim: text="three"]]'));

describe("openapi-typescript and openapi-fetch", () => {
  test(
    "the program of docs/client.md is well typed, and runs",
    async () => {
      await run("node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "schema.d.ts");
      await check("openapi-fetch.ts", programOf("openapi-fetch.ts"));
      expect((await run("openapi-fetch.ts")).toSorted()).toEqual(conversation.toSorted());
    },
    slowMs,
  );

  test("parts, chunks, items, query numbers and pages have types", () => check("types.ts", typed), slowMs);
});

test(
  "@hey-api/openapi-ts: the program of docs/client.md is well typed, and runs",
  async () => {
    await run("node_modules/@hey-api/openapi-ts/bin/run.js", "-i", "openapi.json", "-o", "parley");
    await check("hey-api.ts", programOf("hey-api.ts"));
    expect((await run("hey-api.ts")).toSorted()).toEqual(conversation.toSorted());
  },
  slowMs,
);

/** What each type has to be, and what it must not take. */
const typed = `
import type { components, operations } from "./schema.d.ts";
type Schemas = components["schemas"];
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(): T | void => {};
type QueryOf<K extends keyof operations> = NonNullable<operations[K]["parameters"]["query"]>;

// Numbers of a query are numbers.
holds<Same<QueryOf<"turns.list">["limit"], number | undefined>>();
holds<Same<QueryOf<"usage.get">["limit"], number | undefined>>();
holds<Same<QueryOf<"agents.list">["limit"], number | undefined>>();
// @ts-expect-error a text is no number
const limit: QueryOf<"sessions.listMessages">["limit"] = "5";

// Parts of messages: what is sent, and what is read.
type Read = Schemas["MessagePart"];
const sent: Schemas["UserMessage"]["parts"] = [
  { type: "text", text: "What is this?" },
  { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
];
// @ts-expect-error a picture has an address
sent.push({ type: "file", mediaType: "image/png" });
function read(part: Read): string {
  if (part.type === "text" && "text" in part) return part.text;
  if (part.type === "reasoning" && "text" in part) return part.text;
  if ("toolCallId" in part) return part.toolCallId + part.state + (part.errorText ?? "");
  if (part.type === "file" && "url" in part) return part.url;
  return part.type;
}
// Chunks of a stream.
function told(chunk: Schemas["UIMessageChunk"]): string {
  if (chunk.type === "tool-output-error" && "errorText" in chunk) return chunk.errorText;
  if (chunk.type === "finish" && "finishReason" in chunk) return chunk.finishReason ?? "";
  return "delta" in chunk ? chunk.delta : chunk.type;
}
// Items of a response.
function said(item: Schemas["ResponseOutputItem"]): string {
  switch (item.type) {
    case "message":
      return item.content.map(({ text }) => text).join("");
    case "reasoning":
      return item.summary.map(({ text }) => text).join("");
    case "function_call":
      return item.call_id + item.arguments;
    case "mcp_call":
      return item.output ?? item.error ?? "";
    case "mcp_approval_request":
      return item.id;
  }
}
// Lists that grow have one shape.
interface Page<T> { data: T[]; nextCursor: string | null }
const rows = <T>({ data }: Page<T>): T[] => data;
declare const pages: [
  Schemas["SessionPage"], Schemas["MessagePage"], Schemas["TurnPage"], Schemas["TaskPage"], Schemas["TaskRunPage"],
  Schemas["MemoryPage"], Schemas["WorkspacePage"], Schemas["SkillPage"], Schemas["AuditEventPage"], Schemas["WebhookPage"],
  Schemas["WebhookDeliveryPage"], Schemas["AgentVersionPage"], Schemas["ChatDeliveryPage"], Schemas["LatestSessionPage"],
];
for (const page of pages) rows<unknown>(page);
const name: string | undefined = rows(pages[0])[0]?.lastMessagePreview ?? undefined;
// The short ones stand under their noun.
declare const agents: Schemas["AgentList"];
const cursor: string | null | undefined = agents.nextCursor;
export { cursor, limit, name, read, said, sent, told };
`;
