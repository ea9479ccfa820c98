/**
 * Many streams at once: how long a chunk is on its way from the model to the
 * client, and what a follower that only waits costs the HTTP tier in memory.
 * The same streams are first read from the model itself, for what model and
 * client alone add.
 *
 *     bun loadtest/streams.ts [--streams 1000] [--rate 10] [--seconds 15] [--ramp 10] [--workers 1] [--servers 1] [--followers 1000]
 */
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { printLine, quantile } from "./figures.ts";
import { readUse } from "./processes.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1000" },
    rate: { type: "string", default: "10" },
    seconds: { type: "string", default: "15" },
    ramp: { type: "string", default: "10" },
    workers: { type: "string", default: "1" },
    servers: { type: "string", default: "1" },
    followers: { type: "string", default: "1000" },
  },
});
const streams = Number(values.streams);
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const ramp = Number(values.ramp);
const followers = Number(values.followers);

/** By itself Bun has at most 256 requests under way, and reads so only at its start. */
const requestsVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS";
if (process.env[requestsVariable] === undefined) {
  const env = { ...process.env, [requestsVariable]: "65535" };
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env, stdio: "inherit" });
  process.exit(status ?? 1);
}

const script = `[[sim: chunks=${Math.ceil((ramp + seconds) * rate)} delayMs=${Math.round(1000 / rate)} stamped]]`;
const moment = /@(\d{13}) /g;

/** Where streams are read from. */
interface Source {
  readonly name: string;
  /** Where the streams are asked for, one after the other. */
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/**
 * Starts the streams evenly over the ramp, reads them while all of them run, and
 * tells the lag of every chunk that came then.
 */
async function lags({ urls, headers, body }: Source): Promise<{ lagsMs: number[]; failed: number; broken: number }> {
  const lagsMs: number[] = [];
  let failed = 0;
  let broken = 0;
  const leave = new AbortController();
  const from = performance.now() + ramp * 1000;
  const to = from + seconds * 1000;
  const readOne = async (index: number) => {
    await sleep((index / streams) * ramp * 1000);
    const url = urls[index % urls.length] ?? "";
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal: leave.signal });
    if (!response.ok) {
      failed += 1;
      return;
    }
    const decoder = new TextDecoder();
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      const now = performance.now();
      if (now < from || now > to) continue;
      const text = decoder.decode(part, { stream: true });
      for (const [, at] of text.matchAll(moment)) lagsMs.push(Date.now() - Number(at));
    }
  };
  const all = Array.from({ length: streams }, (_, index) =>
    readOne(index).catch(() => {
      if (!leave.signal.aborted) broken += 1;
    }),
  );
  await sleep(to - performance.now() + 500);
  leave.abort();
  await Promise.all(all);
  return { lagsMs, failed, broken };
}

async function measureLags(stand: Stand, servers: readonly string[]): Promise<void> {
  const json = { "content-type": "application/json" };
  const sources: Source[] = [
    {
      name: "model itself",
      urls: [`${stand.modelUrl}/chat/completions`],
      headers: json,
      body: { model: "simulated/model", stream: true, messages: [{ role: "user", content: script }] },
    },
    {
      name: "service",
      urls: servers.map((url) => `${url}/v1/agents/${stand.agentId}/sessions`),
      headers: { ...json, authorization: `Bearer ${stand.apiKey}` },
      body: { message: { id: "m1", role: "user", parts: [{ type: "text", text: script }] } },
    },
  ];
  printLine(
    `${streams} streams at ${rate} chunks/s, ${values.workers} worker(s), ${servers.length} HTTP process(es):\n`,
  );
  printLine(
    "| read from | chunks/s | of those sent | lag p50 | p99 | max | refused | broken |\n|---|---|---|---|---|---|---|---|",
  );
  for (const source of sources) {
    const before = await readUse(stand.processes);
    const { lagsMs, failed, broken } = await lags(source);
    const after = await readUse(stand.processes);
    const perSecond = lagsMs.length / seconds;
    const at = (share: number) => `${quantile(lagsMs, share).toFixed(0)} ms`;
    const part = ((100 * perSecond) / (streams * rate)).toFixed(0);
    printLine(
      `| ${source.name} | ${perSecond.toFixed(0)} | ${part} % | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${failed} | ${broken} |`,
    );
    const cores = [...after].map(([name, { cpuSeconds }]) => {
      const used = cpuSeconds - (before.get(name)?.cpuSeconds ?? 0);
      return `${name} ${(used / (ramp + seconds)).toFixed(2)}`;
    });
    printLine(`\n  cores in use, the ramp included: ${cores.join(", ")}\n`);
  }
}

/** What the HTTP tier weighs, in MB, once it has come to rest. */
async function weight({ processes }: Stand): Promise<number> {
  await sleep(4_000);
  return (await readUse(processes)).get("serve")?.memoryMb ?? 0;
}

/** Joins one turn that is quiet, twice so many; before that as many come and go, fifty at a time, so that first-time growth is not counted. */
async function measureFollowers(stand: Stand): Promise<void> {
  await stand.call("POST", `/v1/agents/${stand.agentId}/sessions`, {
    message: { id: "m0", role: "user", parts: [{ type: "text", text: "[[sim: chunks=1 delayMs=0]]" }] },
    stream: false,
  });
  const page = await stand.call("GET", `/v1/agents/${stand.agentId}/sessions?limit=1`);
  const path = `${stand.url}/v1/agents/${stand.agentId}/sessions/${page.data[0].id}`;
  const headers = { authorization: `Bearer ${stand.apiKey}`, "content-type": "application/json" };
  const leave = new AbortController();
  const parts = [{ type: "text", text: "[[sim: chunks=2 delayMs=1200000]]" }];
  const body = JSON.stringify({ message: { id: "m1", role: "user", parts } });
  await fetch(path, { method: "POST", headers, body });
  const joinAll = async (stay: boolean) => {
    for (let n = 0; n < followers; n += 50) {
      const gone = new AbortController();
      const responses = await Promise.all(
        Array.from({ length: Math.min(50, followers - n) }, () =>
          fetch(`${path}/stream`, { headers, signal: (stay ? leave : gone).signal }),
        ),
      );
      const wrong = responses.find(({ status }) => status !== 200);
      if (wrong !== undefined) throw new Error(`A join was refused with ${wrong.status}.`);
      // Reading the first chunk makes sure that the follower follows.
      await Promise.all(responses.map((response) => response.body?.getReader().read()));
      gone.abort();
    }
  };
  await joinAll(false);
  const alone = await weight(stand);
  await joinAll(true);
  const once = await weight(stand);
  await joinAll(true);
  const twice = await weight(stand);
  leave.abort();
  const left = await weight(stand);
  const each = (mb: number) => `${((mb * 1000) / followers).toFixed(1)} kB each`;
  printLine(
    `Memory of the HTTP process with idle followers of one turn: ${alone.toFixed(0)} MB alone, ${once.toFixed(0)} MB with ${followers} (${each(once - alone)}), ${twice.toFixed(0)} MB with ${2 * followers} (${each(twice - once)} more), ${left.toFixed(0)} MB once they left.`,
  );
}

const concurrency = Math.ceil((streams * 1.2) / Number(values.workers)) + 10;
const stand = await startStand({
  workers: Number(values.workers),
  env: { WORKER_CONCURRENCY: String(Math.min(concurrency, 4096)) },
});
try {
  if (followers > 0) await measureFollowers(stand);
  const servers = [stand.url];
  while (servers.length < Number(values.servers)) servers.push((await stand.addServer()).url);
  await measureLags(stand, servers);
} finally {
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
