/**
 * When the first text of a turn comes over stores that are some milliseconds away: plain, with an Idempotency-Key, and
 * with a call of a built-in tool before it. Another checkout of the service, with its packages, is measured by the same
 * clients, stores and model.
 *
 *     bun loadtest/round-trips.ts [--checkout DIR] [--delays 0,1,5,20] [--rounds 20]
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { startSimulatedModel } from "../src/simulated-model/server.ts";
import { openLink } from "../test/faults/link.ts";
import { startRedis } from "../test/harness/redis.ts";
import { printLine } from "./figures.ts";
import { launchProgram, stopProgram } from "./launch.ts";

const { values } = parseArgs({
  options: {
    checkout: { type: "string", default: join(import.meta.dirname, "..") },
    delays: { type: "string", default: "0,1,5,20" },
    rounds: { type: "string", default: "20" },
  },
});
const cwd = resolve(values.checkout);
const delays = values.delays.split(",").map(Number);
/** What is asked for first is slower: statements are prepared. */
const warmUpRounds = 3;

const kinds = ["plain", "with a key", "with a tool"] as const;
type Kind = (typeof kinds)[number];
const text = '[[sim: text="one two"]]';
const withTool = '[[sim: tool=memory_save args={"text":"a note"}; text="one two"]]';

/** The times of one kind of turn, in milliseconds. */
interface Times {
  readonly firstMs: number[];
  readonly wholeMs: number[];
}

/** Measures the checkout over stores whose answers come so many milliseconds later. */
async function measure(delayMs: number): Promise<ReadonlyMap<Kind, Times>> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "parley-load-"));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const database = await startEmbeddedPostgres({ home, log: () => {} });
  opened.defer(() => database.stop());
  const redis = await startRedis();
  opened.defer(() => redis.stop());
  const model = startSimulatedModel({ chunkDelayMs: 0 });
  opened.defer(() => model.stop());
  const near = new URL(database.url);
  const far = new URL(database.url);
  const links = [opened.use(await openLink(Number(near.port))), opened.use(await openLink(redis.port))];
  for (const link of links) link.delay(delayMs);
  far.port = String(links[0]?.port);
  const own = { ENCRYPTION_KEY: randomBytes(32).toString("base64"), ALLOW_PRIVATE_NETWORK: "1", PORT: "0" };
  const run = async (words: readonly string[], env: Record<string, string>, ready: RegExp) => {
    const args = ["src/main.ts", ...words];
    const { child, match } = await launchProgram({
      program: join(cwd, "node_modules/.bin/bun"),
      args,
      cwd,
      env,
      ready,
    });
    opened.defer(async () => void (await stopProgram(child, "SIGKILL")));
    return { child, match };
  };
  const direct = { ...own, DATABASE_URL: database.url };
  const delayed = { ...own, DATABASE_URL: far.href, REDIS_URL: `redis://127.0.0.1:${links[1]?.port}` };
  const migrating = (await run(["migrate"], direct, /migration/)).child;
  if (migrating.exitCode === null) await once(migrating, "exit");
  const [made] = (await run(["tenant", "create", "--name", "far", "--json"], direct, /\{.*"token".*\}/)).match;
  const { token } = JSON.parse(made) as { token: string };
  const [, url = ""] = (await run(["serve"], delayed, /"url":"([^"]+)"/)).match;
  await run(["work"], delayed, /"working"/);
  return await turns(url, { authorization: `Bearer ${token}`, "content-type": "application/json" }, model.url);
}

async function turns(url: string, headers: Record<string, string>, modelUrl: string): Promise<Map<Kind, Times>> {
  const call = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const server = { name: "simulated", providerType: "custom", baseUrl: modelUrl, apiKey: "sk-load" };
  const { id: providerId } = await call("/v1/providers", server);
  const agent = { name: "far", model: "simulated/model", providerId, tools: ["memory"] };
  const { id } = await call("/v1/agents", { ...agent, approvalInChat: { default: "full" } });
  const all = new Map<Kind, Times>(kinds.map((kind) => [kind, { firstMs: [], wholeMs: [] }]));
  for (let round = -warmUpRounds; round < Number(values.rounds); round++)
    for (const kind of kinds) {
      const key: Record<string, string> = kind === "with a key" ? { "idempotency-key": crypto.randomUUID() } : {};
      const asked = kind === "with a tool" ? withTool : text;
      const { firstMs, wholeMs } = await turn(`${url}/v1/agents/${id}/sessions`, { ...headers, ...key }, asked);
      if (round < 0) continue;
      all.get(kind)?.firstMs.push(firstMs);
      all.get(kind)?.wholeMs.push(wholeMs);
    }
  return all;
}

async function turn(url: string, headers: Record<string, string>, asked: string) {
  const beganAt = performance.now();
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: asked }] };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ message }) });
  const decoder = new TextDecoder();
  let read = "";
  let firstMs = 0;
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    read += decoder.decode(part, { stream: true });
    if (firstMs === 0 && read.includes('"text-delta"')) firstMs = performance.now() - beganAt;
  }
  if (!read.includes("[DONE]") || read.includes('"type":"error"')) throw new Error(`A turn failed: ${read}`);
  return { firstMs, wholeMs: performance.now() - beganAt };
}

const columns: ReadonlyMap<Kind, Times>[] = [];
for (const delayMs of delays) columns.push(await measure(delayMs));
printLine(`| least of ${values.rounds}, ms, at a round trip of ${delays.join(", ")} ms | first text | whole turn |`);
printLine("|---|---|---|");
for (const kind of kinds) {
  // What a busy machine does beside it makes no time shorter.
  const least = (what: keyof Times) =>
    columns.map((column) => Math.min(...(column.get(kind)?.[what] ?? [])).toFixed(0)).join(", ");
  printLine(`| ${kind} | ${least("firstMs")} | ${least("wholeMs")} |`);
}
process.exit(0);
