/**
 * Open streams over a restart of Postgres: those of Parley and of other systems that run agents, one system after
 * the other. What they store and how they are asked is in their servers beside this file.
 *
 *     bun loadtest/peers/restart.ts [--streams 10] [--away 0] [--only parley,dbos,mastra,langgraph]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { printLine } from "../figures.ts";
import { type Stand, startStand } from "../stand.ts";
import { startPeerServer } from "./start.ts";
import { peers as allPeers, type Peer } from "./systems.ts";

/** Who stores in Postgres. */
const peers = allPeers.filter(({ app }) => app === undefined);

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "10" },
    /** So many seconds beside those that it takes. */
    away: { type: "string", default: "0" },
    only: { type: "string", default: ["parley", ...peers.map(({ name }) => name)].join(",") },
  },
});

/** An answer of 8 s, of which 2 are over when Postgres goes. */
const [chunks, delayMs, beforeMs] = [80, 100, 2_000];
/** Whoever hears nothing more of an answer for so long beyond its time gives up. */
const patienceMs = 60_000;
/** A new turn is asked for so often until one is whole. */
const againMs = 250;

interface Asked {
  readonly name: string;
  /** Asks for a turn, and is given its stream. */
  ask(text: string): Promise<Response>;
  readonly end: RegExp;
  /** Where it stores what was said. */
  readonly databaseUrl: string;
  hasEnded(): boolean;
}

type End = "whole" | "told of an error" | "refused" | "broken" | "silent";

/** Asks for a turn and reads its stream to its end. */
async function readTurn({ ask, end }: Asked, text: string, lastChunk: number): Promise<End> {
  try {
    const response = await ask(text);
    if (!response.ok) return "refused";
    let read = "";
    const decoder = new TextDecoder();
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>)
      read += decoder.decode(part, { stream: true });
    if (read.includes(`chunk-${lastChunk} `) && end.test(read) && !isError(read)) return "whole";
    return isError(read) ? "told of an error" : "broken";
  } catch (error) {
    return (error as Error).name === "TimeoutError" ? "silent" : "broken";
  }
}

function isError(read: string): boolean {
  return /"type":"error"|event: error/.test(read);
}

function counted(ends: readonly End[]): string {
  return [...Map.groupBy(ends, (end) => end)].map(([end, all]) => `${all.length} ${end}`).join(", ");
}

/** How a system is asked that takes messages as the AI SDK's clients send them. */
function vercelAsk(url: string, headers: Readonly<Record<string, string>> = {}): Asked["ask"] {
  return (text) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ message: { id: "m1", role: "user", parts: [{ type: "text", text }] } }),
      signal: AbortSignal.timeout(chunks * delayMs + patienceMs),
    });
}

const done = /\[DONE\]/;

function parley(stand: Stand): Asked {
  const url = `${stand.url}/v1/agents/${stand.agentId}/sessions`;
  const ask = vercelAsk(url, { authorization: `Bearer ${stand.apiKey}` });
  return { name: "Parley", ask, end: done, databaseUrl: stand.databaseUrl, hasEnded: () => false };
}

async function started(stand: Stand, opened: AsyncDisposableStack, peer: Peer): Promise<Asked> {
  const { url, databaseUrl, hasEnded } = await startPeerServer(stand, opened, peer);
  const { name, wire } = peer;
  const ask = wire === undefined ? vercelAsk(url) : (text: string) => wire.ask(url, text);
  return { name, ask, end: wire?.end ?? done, databaseUrl, hasEnded };
}

async function tried(stand: Stand, system: Asked): Promise<string> {
  if ((await readTurn(system, "[[sim: chunks=3]]", 3)) !== "whole") throw new Error(`${system.name} does not answer.`);
  const streams = Array.from({ length: Number(values.streams) }, () =>
    readTurn(system, `[[sim: chunks=${chunks} delayMs=${delayMs}]]`, chunks),
  );
  await sleep(beforeMs);
  const goneAt = performance.now();
  await stand.restartPostgres(Number(values.away) * 1000);
  const backAt = performance.now();
  const limit = AbortSignal.timeout(patienceMs);
  while (!limit.aborted && !system.hasEnded() && (await readTurn(system, "[[sim: chunks=3]]", 3)) !== "whole")
    await sleep(againMs);
  const newMs = performance.now() - backAt;
  const ends = await Promise.all(streams);
  const isOver = limit.aborted ? "none within a minute" : `${(newMs / 1000).toFixed(1)} s`;
  const next = system.hasEnded() ? "its process has ended" : isOver;
  const stored = await storedAnswers(system.databaseUrl);
  const awaySeconds = ((backAt - goneAt) / 1000).toFixed(1);
  return `| ${system.name} | ${counted(ends)} | ${stored} | ${awaySeconds} s | ${next} |`;
}

/** How many rows of one table have the last words of such an answer: of the table that has the most. */
async function storedAnswers(databaseUrl: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const tables = await sql<{ name: string }[]>`
      select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
    const word = `chunk-${chunks} `;
    const hex = Buffer.from(word).toString("hex");
    const counts = [];
    for (const { name } of tables) {
      const [row] = await sql<{ rows: number }[]>`
        select count(*)::int as rows from ${sql.unsafe(name)} t where t::text like ${`%${word}%`} or t::text like ${`%${hex}%`}`;
      counts.push(row?.rows ?? 0);
    }
    return Math.max(...counts);
  } finally {
    await sql.end();
  }
}

const rows: string[] = [];
{
  await using stand = await startStand({ workers: 1, connections: 200 });
  const only = values.only.split(",");
  if (only.includes("parley")) rows.push(await tried(stand, parley(stand)));
  for (const peer of peers.filter(({ name }) => only.includes(name))) {
    await using opened = new AsyncDisposableStack();
    rows.push(await tried(stand, await started(stand, opened, peer)));
  }
}
printLine(`\n${values.streams} open streams, and Postgres restarts:\n`);
printLine("| | streams | answers stored | Postgres was away | first new turn after that |\n|---|---|---|---|---|");
for (const row of rows) printLine(row);
process.exit(0);
