/**
 * What the sandboxes of real programs cost: a command beside a bare `bwrap`, the first and the next command of a workspace
 * with many files, 50 commands at once of ten tenants, and the memory of the process that runs them. Commands are asked for by the
 * interface, one HTTP process and Postgres between. Times are over the program's own (`durationMs`).
 *
 *     bun loadtest/sandboxes.ts [--runtime remote] [--files 1000] [--mib 50] [--rounds 20] [--firsts 5] [--commands 50] [--tenants 10]
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { median, printLine, quantile } from "./figures.ts";
import { launchProgram, stopProgram } from "./launch.ts";
import { readUse, type StandProcess } from "./processes.ts";
import { type Call, type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    runtime: { type: "string", default: "remote" },
    files: { type: "string", default: "1000" },
    mib: { type: "string", default: "50" },
    rounds: { type: "string", default: "20" },
    firsts: { type: "string", default: "5" },
    commands: { type: "string", default: "50" },
    tenants: { type: "string", default: "10" },
  },
});
const [files, mib, rounds, firsts, commands, tenants] = [
  values.files,
  values.mib,
  values.rounds,
  values.firsts,
  values.commands,
  values.tenants,
].map(Number) as [number, number, number, number, number, number];

/** A command, asked for by the interface. */
interface Ran {
  readonly wallMs: number;
  /** Beyond the program's own time. */
  readonly addedMs: number;
  readonly stdout: string;
}

async function run(call: Call, workspaceId: string, command: string): Promise<Ran> {
  const startedAt = performance.now();
  const { exitCode, stdout, stderr, durationMs } = await call("POST", `/v1/workspaces/${workspaceId}/commands`, {
    command,
  });
  if (exitCode !== 0) throw new Error(`${command}: ${exitCode} ${stderr}`);
  const wallMs = performance.now() - startedAt;
  return { wallMs, addedMs: wallMs - durationMs, stdout };
}

async function newWorkspace(call: Call): Promise<string> {
  return (await call("POST", "/v1/workspaces", {})).id;
}

/** Gives a workspace files in folders of 50. */
async function fill(databaseUrl: string, workspaceId: string): Promise<void> {
  const bytes = Math.floor((mib * 1024 * 1024) / files);
  const sql = postgres(databaseUrl, { max: 4 });
  const one = (n: number) => sql`
    insert into workspace_files (workspace_id, path, content, size)
    values (${workspaceId}, ${`folder-${Math.floor(n / 50)}/file-${n}`}, ${randomBytes(bytes)}, ${bytes})`;
  await Promise.all(Array.from({ length: files }, (_, n) => one(n)));
  await sql.end();
}

/** The time of one `bwrap` that has the namespaces of a sandbox and runs nothing. */
async function bare(): Promise<number> {
  const args = [
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "/bin/true",
  ];
  const startedAt = performance.now();
  const child = spawn("bwrap", args, { stdio: "ignore" });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`bwrap ended with ${code}`);
  return performance.now() - startedAt;
}

async function repeat(times: number, work: () => Promise<number>): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < times; n++) found.push(await work());
  return found;
}

const ms = (number: number) => `${number.toFixed(0)} ms`;

/** Says what the repetitions of some work took, and what they cost each process. */
async function tell(processes: readonly StandProcess[], what: string, times: number, work: () => Promise<number>) {
  const before = await readUse(processes);
  const took = await repeat(times, work);
  // Processes that have ended are counted once they have been waited for.
  await sleep(200);
  const after = await readUse(processes);
  const cpu = [...after].flatMap(([name, use]) => {
    const each = (1000 * (use.cpuSeconds - (before.get(name)?.cpuSeconds ?? 0))) / times;
    return each >= 0.5 ? [`${name} ${ms(each)}`] : [];
  });
  printLine(
    `| ${what} | ${ms(Math.min(...took))} | ${ms(median(took))} | ${ms(quantile(took, 0.9))} | ${cpu.join(", ")} | ${loadavg()[0]?.toFixed(1)} |`,
  );
}

async function main(): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const processes: StandProcess[] = [];
  const env: Record<string, string> = { SANDBOX: values.runtime, RATE_LIMIT_PER_MINUTE: "1000000" };
  if (values.runtime === "remote") {
    const token = randomBytes(24).toString("base64url");
    const { child, match } = await launchProgram({
      program: process.execPath,
      args: ["src/main.ts", "sandbox"],
      cwd: join(import.meta.dirname, ".."),
      env: { PORT: "0", SANDBOX_TOKEN: token },
      ready: /"url":"(http:[^"]+)".*"running commands"/,
    });
    opened.defer(async () => void (await stopProgram(child, "SIGTERM")));
    processes.push({ name: "sandbox", pid: child.pid ?? 0 });
    Object.assign(env, { SANDBOX_URL: match[1], SANDBOX_TOKEN: token });
  }
  const stand = opened.use(await startStand({ workers: 0, env }));
  const told = ["serve", "postgres"];
  processes.push(...stand.processes.filter(({ name }) => told.includes(name)));
  await single(stand, processes);
  await many(stand, processes);
}

async function single(stand: Stand, processes: readonly StandProcess[]): Promise<void> {
  const { call } = stand;
  printLine("| what | least | median | 90 of 100 | processor time each | load |\n|---|---|---|---|---|---|");
  await tell([], "a bare `bwrap`, whole", rounds, bare);
  const empty = await newWorkspace(call);
  await run(call, empty, "true");
  await tell(
    processes,
    "the next command of an empty workspace",
    rounds,
    async () => (await run(call, empty, "true")).addedMs,
  );
  const next = async (what: string, command: string) => {
    await tell(processes, `${size}: ${what}`, rounds, async () => (await run(call, full, command)).addedMs);
  };
  const size = `${files} files of ${mib} MiB`;
  const first = async () => {
    const workspaceId = await newWorkspace(call);
    await fill(stand.databaseUrl, workspaceId);
    full = workspaceId;
    await sleep(1_000);
  };
  let full = "";
  const took: number[] = [];
  for (let n = 0; n < firsts; n++) {
    await first();
    await tell(processes, `${size}: the first command`, 1, async () => {
      const { addedMs } = await run(call, full, "true");
      took.push(addedMs);
      return addedMs;
    });
  }
  printLine(`| ${size}: the first command | ${ms(Math.min(...took))} | ${ms(median(took))} | | | |`);
  await next("the next command", "true");
  await next("the next command, which writes a file", "date +%N > folder-1/written");
}

/** Commands of many tenants at once, each tenant's in a workspace of its own. */
async function many(stand: Stand, processes: readonly StandProcess[]): Promise<void> {
  const memory = async () => {
    const use = await readUse(processes);
    return [...use].map(([name, { memoryMb }]) => `${name} ${memoryMb.toFixed(0)} MB`).join(", ");
  };
  const others = await repeatOf(tenants - 1, () => stand.addTenant());
  const all = [stand, ...others];
  const places = await Promise.all(
    Array.from({ length: commands }, async (_, n) => {
      const { call } = all[n % all.length] as (typeof all)[number];
      return { call, workspaceId: await newWorkspace(call) };
    }),
  );
  printLine(`\nmemory before: ${await memory()}`);
  for (const what of ["first", "next"]) {
    const startedAt = performance.now();
    const took = await Promise.all(
      places.map(({ call, workspaceId }) => run(call, workspaceId, "python3 -c 'print(6 * 7)' | tee -a out")),
    );
    const wrong = took.filter(({ stdout }) => stdout !== "42\n").length;
    const walls = took.map(({ wallMs }) => wallMs);
    printLine(
      `${commands} commands at once of ${tenants} tenants, the ${what} of each workspace: ${ms(performance.now() - startedAt)} in all, ` +
        `median ${ms(median(walls))}, the slowest ${ms(Math.max(...walls))}, ${wrong} wrong; load ${loadavg()[0]?.toFixed(1)}; memory: ${await memory()}`,
    );
  }
}

async function repeatOf<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let n = 0; n < times; n++) made.push(await work());
  return made;
}

await main();
