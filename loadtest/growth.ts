/**
 * What a request costs on a small and on a large installation. Two stands side by
 * side, one seeded with few rows and one with many, are asked in turn, so that the
 * ratio of their medians holds on a noisy machine. Plans of the large one follow.
 *
 *     bun loadtest/growth.ts [--small 1000,10000] [--large 1000000,10000000] [--samples 101] [--only turns] [--no-plans]
 *
 * The sizes are sessions and messages of one tenant; every two messages are a turn
 * with its usage. The large ones take about 10 GB under the temporary folder.
 */
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { median, printLine } from "./figures.ts";
import { explainAll } from "./plans.ts";
import { type Seeded, seedRows } from "./rows.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    small: { type: "string", default: "1000,10000" },
    large: { type: "string", default: "1000000,10000000" },
    samples: { type: "string", default: "101" },
    "no-plans": { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});

/** What one seeded message with its share of turns, usage and indexes takes on disk, write-ahead log included. */
const bytesPerMessage = 1_500;
/** Above this ratio a cost grows with the installation. */
const ratioMax = 1.5;

/** One installation of the comparison. */
interface Side extends Seeded {
  readonly stand: Stand;
}

/** A request whose cost is compared. Returns the milliseconds it took. */
interface Probe {
  readonly name: string;
  ask(side: Side): Promise<number>;
}

const json = "application/json";

/** Milliseconds until the response was read. */
async function timed(side: Side, path: string): Promise<number> {
  const from = performance.now();
  await side.stand.call("GET", path);
  return performance.now() - from;
}

/** Milliseconds until a turn was accepted; then waits for its end. */
async function accept({ stand }: Side, path: string): Promise<number> {
  const from = performance.now();
  const response = await post(stand, path, true);
  const took = performance.now() - from;
  const text = await response.text();
  if (!response.ok || !text.includes("[DONE]")) throw new Error(`${path}: ${response.status} ${text}`);
  return took;
}

/** Milliseconds of a whole turn. */
async function turn({ stand }: Side, path: string): Promise<number> {
  const from = performance.now();
  const response = await post(stand, path, false);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return performance.now() - from;
}

function post(stand: Stand, path: string, stream: boolean): Promise<Response> {
  const parts = [{ type: "text", text: "[[sim: chunks=3 delayMs=0]]" }];
  return fetch(`${stand.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${stand.apiKey}`, "content-type": json },
    body: JSON.stringify({ message: { id: crypto.randomUUID(), role: "user", parts }, stream }),
  });
}

const sessionsOf = ({ stand }: Side) => `/v1/agents/${stand.agentId}/sessions`;
/** The cursor behind so many pages, by path; walked once. */
const cursors = new Map<string, string>();

async function deep(side: Side, path: string, pages: number): Promise<number> {
  const key = `${side.stand.url}${path}`;
  let cursor = cursors.get(key);
  if (cursor === undefined) {
    cursor = "";
    let before = "";
    for (let n = 0; n < pages; n++) {
      const page = await side.stand.call("GET", `${path}${cursor === "" ? "" : `&cursor=${cursor}`}`);
      // The last page may be a short one, which would cost less.
      if (page.nextCursor === null) {
        cursor = before;
        break;
      }
      before = cursor;
      cursor = encodeURIComponent(page.nextCursor);
    }
    cursors.set(key, cursor);
  }
  return timed(side, `${path}${cursor === "" ? "" : `&cursor=${cursor}`}`);
}

/** Pages walked for a page far behind the first: 20,000 rows, or all there are. */
const deepPages = 100;

/** The list of turns by each filter, and by pairs; some match most turns, some few, some none. */
const turnLists: readonly { readonly name: string; filter(side: Side): string }[] = [
  { name: "turns", filter: () => "" },
  { name: "turns, succeeded", filter: () => "status=succeeded" },
  { name: "turns, failed (1 %)", filter: () => "status=failed" },
  { name: "turns, canceled (few)", filter: () => "status=canceled" },
  { name: "turns, waiting (none)", filter: () => "status=waiting" },
  { name: "turns, queued (none)", filter: () => "status=queued" },
  { name: "turns of sessions", filter: () => "kind=session" },
  { name: "turns of chats (few)", filter: () => "kind=chat" },
  { name: "turns of tasks (none)", filter: () => "kind=task" },
  { name: "turns of an agent", filter: ({ stand }) => `agentId=${stand.agentId}` },
  { name: "turns of an agent (few)", filter: ({ rareAgentId }) => `agentId=${rareAgentId}` },
  { name: "turns of a user", filter: () => "userId=user-7" },
  { name: "turns without a user (none)", filter: () => "userId=" },
  { name: "turns of a session", filter: ({ shortId }) => `sessionId=${shortId}` },
  { name: "turns of a long session", filter: ({ longId }) => `sessionId=${longId}` },
  { name: "turns of a day", filter: () => `from=${dayAgo(10)}&to=${dayAgo(9)}` },
  { name: "turns, failed of a day", filter: () => `status=failed&from=${dayAgo(10)}&to=${dayAgo(9)}` },
  { name: "turns, failed of chats (none)", filter: () => "status=failed&kind=chat" },
  { name: "turns, failed of an agent", filter: ({ stand }) => `status=failed&agentId=${stand.agentId}` },
  { name: "turns, failed of an agent (none)", filter: ({ rareAgentId }) => `status=failed&agentId=${rareAgentId}` },
  { name: "turns of chats of an agent (few)", filter: ({ stand }) => `kind=chat&agentId=${stand.agentId}` },
  { name: "turns, failed of a user", filter: () => "status=failed&userId=user-7" },
  { name: "turns of an agent and a user", filter: ({ stand }) => `userId=user-7&agentId=${stand.agentId}` },
  { name: "turns of an agent and a user (few)", filter: ({ rareAgentId }) => `userId=user-7&agentId=${rareAgentId}` },
  { name: "turns, failed of a session", filter: ({ longId }) => `status=failed&sessionId=${longId}` },
];

const dayAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

const probes: readonly Probe[] = [
  { name: "agents", ask: (side) => timed(side, "/v1/agents") },
  { name: "sessions, first page", ask: (side) => timed(side, `${sessionsOf(side)}?limit=50`) },
  { name: "sessions, deep page", ask: (side) => deep(side, `${sessionsOf(side)}?limit=200`, deepPages) },
  { name: "sessions of a user", ask: (side) => timed(side, `${sessionsOf(side)}?limit=50&userId=user-7`) },
  { name: "latest", ask: (side) => timed(side, "/v1/sessions/latest?limit=50") },
  { name: "latest, deep page", ask: (side) => deep(side, "/v1/sessions/latest?limit=200", deepPages) },
  { name: "latest of a user", ask: (side) => timed(side, "/v1/sessions/latest?limit=50&userId=user-7") },
  { name: "latest by agent", ask: (side) => timed(side, "/v1/sessions/latest?byAgent=true") },
  { name: "messages", ask: (side) => timed(side, `${sessionsOf(side)}/${side.shortId}/messages?limit=10`) },
  {
    name: "messages, long session",
    ask: (side) => timed(side, `${sessionsOf(side)}/${side.longId}/messages?limit=10`),
  },
  {
    name: "messages, deep page",
    ask: (side) => deep(side, `${sessionsOf(side)}/${side.longId}/messages?limit=10`, deepPages),
  },
  { name: "session", ask: (side) => timed(side, `${sessionsOf(side)}/${side.shortId}`) },
  ...turnLists.map(({ name, filter }) => ({ name, ask: (side: Side) => timed(side, `/v1/turns?${filter(side)}`) })),
  { name: "turns, deep page", ask: (side) => deep(side, "/v1/turns?limit=200", deepPages) },
  { name: "turns, succeeded, deep page", ask: (side) => deep(side, "/v1/turns?limit=200&status=succeeded", deepPages) },
  { name: "turn by its id", ask: (side) => timed(side, `/v1/turns/turn_${"0".repeat(18)}100001`) },
  { name: "usage by day", ask: (side) => timed(side, "/v1/usage") },
  { name: "usage by agent", ask: (side) => timed(side, "/v1/usage?groupBy=agent") },
  { name: "usage by model", ask: (side) => timed(side, "/v1/usage?groupBy=model") },
  { name: "usage by user", ask: (side) => timed(side, "/v1/usage?groupBy=user") },
  { name: "usage by session", ask: (side) => timed(side, "/v1/usage?groupBy=session") },
  { name: "usage of an agent", ask: (side) => timed(side, `/v1/usage?agentId=${side.stand.agentId}`) },
  { name: "usage of a user", ask: (side) => timed(side, "/v1/usage?userId=user-7") },
  { name: "usage of a session", ask: (side) => timed(side, `/v1/usage?sessionId=${side.shortId}`) },
  { name: "accept, new session", ask: (side) => accept(side, sessionsOf(side)) },
  { name: "accept, old session", ask: (side) => accept(side, `${sessionsOf(side)}/${side.otherId}`) },
  { name: "turn, 10 messages", ask: (side) => turn(side, `${sessionsOf(side)}/${side.shortId}`) },
  { name: "turn, 2,000 messages", ask: (side) => turn(side, `${sessionsOf(side)}/${side.longId}`) },
];

/** A cost that is plainly large is not asked for so often: the samples together take at most this long. */
const probeMsMax = 20_000;

/** Medians of a probe on both sides, asked in turn. */
async function compare({ ask }: Probe, small: Side, large: Side): Promise<readonly [number, number]> {
  const taken: [number[], number[]] = [[], []];
  for (let warm = 0; warm < 3; warm++) {
    await ask(small);
    await ask(large);
  }
  const endsAt = performance.now() + probeMsMax;
  for (let n = 0; n < Number(values.samples) && (n < 5 || performance.now() < endsAt); n++) {
    taken[0].push(await ask(small));
    taken[1].push(await ask(large));
  }
  return [median(taken[0]), median(taken[1])];
}

function sizes(text: string): { sessions: number; messages: number } {
  const [sessions = 0, messages = 0] = text.split(",").map(Number);
  return { sessions, messages };
}

async function open(size: { sessions: number; messages: number }): Promise<Side> {
  const stand = await startStand({ workers: 1 });
  const from = performance.now();
  const seeded = await seedRows(stand, size).catch(async (error: unknown) => {
    await stand[Symbol.asyncDispose]();
    throw error;
  });
  const seconds = ((performance.now() - from) / 1000).toFixed(0);
  printLine(`seeded ${size.sessions} sessions, ${size.messages} messages, ${seeded.turns} turns in ${seconds} s`);
  return { stand, ...seeded };
}

async function main(): Promise<void> {
  const large = sizes(values.large);
  const disk = await statfs(tmpdir());
  const free = disk.bavail * disk.bsize;
  if (free < large.messages * bytesPerMessage)
    throw new Error(`${tmpdir()} has ${(free / 1e9).toFixed(1)} GB free; name fewer messages with --large.`);
  await using opened = new AsyncDisposableStack();
  const few = await open(sizes(values.small));
  opened.use(few.stand);
  const many = await open(large);
  opened.use(many.stand);
  printLine("\n| request | small, median | large, median | ratio | |\n|---|---|---|---|---|");
  const turns: Record<string, number> = {};
  for (const probe of probes.filter(({ name }) => name.includes(values.only))) {
    const medians = await compare(probe, few, many).catch((error: unknown) => String(error));
    if (typeof medians === "string") {
      printLine(`| ${probe.name} | | | | failed: ${medians.slice(0, 120)} |`);
      continue;
    }
    const [a, b] = medians;
    turns[probe.name] = b;
    const ratio = b / a;
    printLine(
      `| ${probe.name} | ${a.toFixed(2)} ms | ${b.toFixed(2)} ms | ${ratio.toFixed(2)} | ${ratio > ratioMax ? "grows" : ""} |`,
    );
  }
  const ratio = (turns["turn, 2,000 messages"] ?? 0) / (turns["turn, 10 messages"] ?? 1);
  printLine(`\nA turn on a session of 2,000 messages takes ${ratio.toFixed(2)} times one on a session of 10.`);
  if (!values["no-plans"]) await explainAll(many.stand, many, printLine);
}

await main();
process.exit(0);
