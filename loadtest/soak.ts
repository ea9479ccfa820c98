/**
 * A soak: an installation with two HTTP processes and two workers is used gently for an hour, and everything that
 * could grow is measured meanwhile: the memory of each process, Redis, the tables of Postgres.
 *
 *     bun loadtest/soak.ts [--minutes 60] [--tenants 2] [--every-seconds 15] [--keep-minutes 5] [--warm-minutes N]
 *                          [--picture FILE.svg] [--results FILE.json]
 *
 * Tenants keep sessions for one day. What was not used for `--keep-minutes` is made to look two days old, so that an
 * hour has many days of retention in it. The picture and the samples are written every minute, and a table of slopes
 * after the end. Ends with 1 when a client got something wrong.
 */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import postgres from "postgres";
import { printLine } from "./figures.ts";
import { drawPanels, type Panel, type PanelLine } from "./picture.ts";
import { startPlatforms } from "./platforms.ts";
import { Sampler, type SoakSample, slopeOf } from "./soak-samples.ts";
import { furnish, type SoakTenant, Tally, work } from "./soak-traffic.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    tenants: { type: "string", default: "2" },
    "every-seconds": { type: "string", default: "15" },
    "keep-minutes": { type: "string", default: "5" },
    "warm-minutes": { type: "string" },
    picture: { type: "string", default: join(import.meta.dirname, "soak.svg") },
    results: { type: "string", default: join(import.meta.dirname, "results", "soak.json") },
  },
});
const minutes = Number(values.minutes);
/** Until then caches fill, code is compiled, and the first sessions have not come of age. */
const warmMinutes = Number(values["warm-minutes"] ?? minutes / 4);
const writeEveryMs = 60_000;
/** Tables that are drawn: the largest at the end. */
const tablesDrawn = 7;
const faultsPrinted = 20;

/** Makes all that nobody used for a while look as if that had been for two days. */
async function age(sql: postgres.Sql): Promise<void> {
  const before = sql`now() - make_interval(secs => ${Number(values["keep-minutes"]) * 60})`;
  const young = sql`now() - interval '1 day'`;
  const old = sql`now() - interval '2 days'`;
  await sql`
    with aged as (
      update sessions set updated_at = ${old} where updated_at < ${before} and updated_at > ${young} returning id
    ), turned as (
      update turns set accepted_at = ${old} where session_id in (select id from aged))
    update approvals set decided_at = ${old} where session_id in (select id from aged)`;
  await sql`
    update task_runs set created_at = ${old}, finished_at = ${old} where finished_at < ${before} and finished_at > ${young}`;
}

/** Makes the tenants, with everything their clients need. */
async function furnishAll(stand: Stand, urls: string[], platforms: Platforms): Promise<SoakTenant[]> {
  const tenants: SoakTenant[] = [];
  for (let n = 0; n < Number(values.tenants); n++) {
    const tenant = await stand.addTenant();
    const words = ["src/main.ts", "tenant", "set", "--tenant", tenant.tenantId, "--retention-days", "1"];
    await promisify(execFile)(process.execPath, words, {
      cwd: join(import.meta.dirname, ".."),
      env: { ...process.env, ...stand.env },
    });
    const { telegram } = (await platforms.connect(tenant.call, tenant.agentId)) as { telegram: Telegram };
    tenants.push(await furnish(tenant, urls, chatOf(stand.url, telegram)));
  }
  return tenants;
}

type Platforms = Awaited<ReturnType<typeof startPlatforms>>;

interface Telegram {
  readonly url: string;
  readonly secret: string;
}

/** Sends messages as Telegram does, from twenty people in turn. */
function chatOf(url: string, telegram: Telegram): SoakTenant["chat"] {
  let sent = 0;
  return async (text) => {
    sent += 1;
    const person = 1_000_000 + (sent % 20);
    const message = {
      message_id: sent,
      date: 1,
      from: { id: person, is_bot: false },
      chat: { id: person, type: "private" },
      text: `[[sim: text="${text}"]]`,
    };
    const response = await fetch(`${url}${telegram.url}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-telegram-bot-api-secret-token": telegram.secret },
      body: JSON.stringify({ update_id: sent, message }),
    });
    if (!response.ok) throw new Error(`webhook: ${response.status} ${await response.text()}`);
  };
}

/** What is drawn and summed up, by panel. */
function panelsOf(samples: readonly SoakSample[]): Panel[] {
  const last = samples.at(-1);
  const largest = Object.entries(last?.tables ?? {}).sort(([, a], [, b]) => b.mb - a.mb);
  const lineOf = (name: string, y: (sample: SoakSample) => number | undefined): PanelLine => ({
    name,
    points: samples.map((sample) => ({ x: sample.minutes, y: y(sample) ?? 0 })),
  });
  const processes = Object.keys(last?.processes ?? {});
  const tables = largest.slice(0, tablesDrawn).map(([name]) => name);
  const memory = (name: string) => lineOf(name, ({ processes: all }) => all[name]?.memoryMb);
  return [
    { title: "Resident memory of the HTTP processes and workers, MB", lines: processes.filter(isService).map(memory) },
    { title: "Memory of Postgres' processes, shared buffers included, MB", lines: [memory("postgres")] },
    { title: "Data in Redis, MB", lines: [lineOf("data", ({ redis }) => redis.memoryMb)] },
    { title: "Keys in Redis", lines: [lineOf("keys", ({ redis }) => redis.keys)] },
    {
      title: "The largest tables with their indexes, MB",
      lines: tables.map((name) => lineOf(name, (sample) => sample.tables[name]?.mb)),
    },
    {
      title: "Live rows of these tables",
      lines: tables.map((name) => lineOf(name, (sample) => sample.tables[name]?.live)),
    },
  ];
}

const isService = (name: string) => /^(HTTP|worker)/.test(name);

/** A row for each line that was drawn: where it stood when warm and at the end, and its slope. */
function slopes(samples: readonly SoakSample[]): string {
  const warm = samples.filter((sample) => sample.minutes >= warmMinutes);
  const rows = panelsOf(warm).flatMap(({ title, lines }) =>
    lines.map(({ name, points }) => {
      const { first, last, anHour, within } = slopeOf(points);
      const [a, b, c, d] = [first, last, anHour, within].map((value) => value.toFixed(1));
      return `| ${title} | ${name} | ${a} | ${b} | ${c} ± ${d} |`;
    }),
  );
  const head = `| what | | after ${warmMinutes} min | at the end | slope an hour |\n|---|---|---|---|---|`;
  return `${head}\n${rows.join("\n")}`;
}

async function write(samples: readonly SoakSample[], tally: Tally): Promise<void> {
  const said = { counts: Object.fromEntries(tally.counts), faults: tally.faults };
  await writeFile(values.results, `${JSON.stringify({ ...said, samples })}\n`);
  const ran = samples.at(-1)?.minutes.toFixed(0) ?? "0";
  await writeFile(values.picture, drawPanels(`A soak of ${ran} minutes`, panelsOf(samples)));
}

async function main(): Promise<number> {
  await mkdir(dirname(values.results), { recursive: true });
  await using opened = new AsyncDisposableStack();
  const platforms = await startPlatforms();
  opened.defer(() => platforms.stop());
  const stand = opened.use(await startStand({ workers: 0, env: platforms.env }));
  const second = await stand.addServer("HTTP 2");
  for (const name of ["worker 1", "worker 2"]) await stand.addWorker(name);
  const named = stand.processes.map(({ name, pid }) => ({ name: name === "serve" ? "HTTP 1" : name, pid }));
  const watched = named.filter(({ name }) => isService(name) || name === "postgres");
  const sampler = opened.use(new Sampler(watched, stand.databaseUrl, stand.env.REDIS_URL ?? ""));
  const sql = postgres(stand.databaseUrl, { max: 1 });
  opened.defer(() => sql.end());
  const tenants = await furnishAll(stand, [stand.url, second.url], platforms);

  const tally = new Tally();
  const stop = new AbortController();
  const working = Promise.all(tenants.map((tenant) => work(tenant, tally, stop.signal)));
  const samples: SoakSample[] = [];
  const endsAt = performance.now() + minutes * 60_000;
  let writeAt = 0;
  while (performance.now() < endsAt) {
    samples.push(await sampler.take());
    if (performance.now() >= writeAt) {
      writeAt = performance.now() + writeEveryMs;
      await age(sql);
      await write(samples, tally);
    }
    await sleep(Number(values["every-seconds"]) * 1000);
  }
  stop.abort();
  await working;
  samples.push(await sampler.take());
  await write(samples, tally);
  printLine(`${[...tally.counts].map(([name, count]) => `${name} ${count}`).join(", ")}.\n`);
  printLine(slopes(samples));
  for (const [name, { cpuSeconds }] of Object.entries(samples.at(-1)?.processes ?? {}))
    printLine(`${name}: ${((cpuSeconds / (minutes * 60)) * 100).toFixed(1)} % of a core`);
  for (const fault of tally.faults.slice(0, faultsPrinted)) printLine(fault);
  return tally.faults.length === 0 ? 0 : 1;
}

process.exit(await main());
