import { type ChildProcess, spawn } from "node:child_process";
import { eventually } from "./eventually.ts";
import { repository } from "./repository.ts";
import { type Command, roleCommand } from "./runtimes.ts";

/** A process of the service, as an operator starts it. */
export interface ServiceProcess {
  readonly pid: number;
  /** Its log so far. */
  readonly log: readonly LogLine[];
  /** What it wrote that is no log line: a crash's stack, for example. */
  readonly noise: readonly string[];
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
  /** `kill -9`, and waits for the end. */
  kill(): Promise<void>;
}

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface ServeProcess extends ServiceProcess {
  /** The address clients are told: `PUBLIC_URL` where it is set. */
  readonly url: string;
  readonly port: number;
}

export interface WorkProcess extends ServiceProcess {
  readonly workerId: string;
}

/** A process starts within this on a busy machine; one that ends before is noticed at once. */
const startMs = 120_000;
/** A stopping process is asked once and given this long beyond its drain. */
const stopGraceMs = 10_000;

/** Where a process runs that does not run on this machine as the tests do. */
export interface Elsewhere {
  readonly address: string;
  /** What starts a program there. */
  command(command: Command): Command;
}

/** Starts an HTTP process on a free port and waits until it serves; `started` learns of it before that. */
export async function launchServe(
  env: Record<string, string>,
  started: (process: ServiceProcess) => void = () => {},
  elsewhere?: Elsewhere,
): Promise<ServeProcess> {
  // The process takes the port itself: one that is looked for here may be gone by the time it listens.
  const process = launch("serve", { PORT: "0", ...env }, elsewhere);
  started(process);
  const { url, port } = await startedWith(process, "serving");
  return { ...process, url: String(url), port: Number(port) };
}

/** Starts a worker process and waits until it works; `started` learns of it before that. */
export async function launchWork(
  env: Record<string, string>,
  started: (process: ServiceProcess) => void = () => {},
  elsewhere?: Elsewhere,
): Promise<WorkProcess> {
  const process = launch("work", env, elsewhere);
  started(process);
  const line = await startedWith(process, "working");
  return { ...process, workerId: String(line.worker) };
}

/** Waits for the line that a started role writes. A process that does not come that far is not left behind. */
async function startedWith(process: ServiceProcess, msg: string): Promise<LogLine> {
  try {
    return await logged(process, msg);
  } catch (error) {
    await process.kill();
    throw error;
  }
}

/** Asks a process to end as its supervisor would. Throws when it does not end well within its drain. */
export async function stopProcess(process: ServiceProcess, drainSeconds: number): Promise<void> {
  process.signal("SIGTERM");
  const end = await eventually(
    () => Promise.race([process.exited, Promise.resolve(null)]),
    drainSeconds * 1000 + stopGraceMs,
  ).catch(async (error) => {
    await process.kill();
    throw error;
  });
  if (end.code !== 0) throw new Error(`It ended with ${end.code ?? end.signal}: ${process.noise.join("\n")}`);
}

/** Waits for a log line. Throws with what the process said when it does not come. */
export async function logged(process: ServiceProcess, msg: string, limitMs = startMs): Promise<LogLine> {
  let ended = false;
  void process.exited.then(() => {
    ended = true;
  });
  const said = () => [...process.log.map((line) => JSON.stringify(line)), ...process.noise].join("\n");
  const find = () => process.log.find((line) => line.msg === msg) ?? null;
  await eventually(() => find() !== null || ended, limitMs).catch(() => {});
  const found = find();
  if (found === null) throw new Error(`${ended ? "It ended and never said" : "It does not say"} "${msg}":\n${said()}`);
  return found;
}

function launch(role: string, env: Record<string, string>, elsewhere?: Elsewhere): ServiceProcess {
  const { PATH = "", HOME = "" } = process.env;
  const command = roleCommand(role, env);
  const { program, words } = elsewhere?.command(command) ?? command;
  const there: Record<string, string> = elsewhere === undefined ? {} : { HOST: elsewhere.address };
  const child: ChildProcess = spawn(program, words, {
    cwd: repository,
    env: { PATH, HOME, NO_COLOR: "1", ...there, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: LogLine[] = [];
  const noise: string[] = [];
  for (const output of [child.stdout, child.stderr]) readLines(output, log, noise);
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: child.pid ?? -1,
    log,
    noise,
    exited,
    signal: (name) => void child.kill(name),
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function readLines(output: ChildProcess["stdout"], log: LogLine[], noise: string[]): void {
  let rest = "";
  output?.on("data", (data: Buffer) => {
    const lines = (rest + data.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      try {
        log.push(JSON.parse(line) as LogLine);
      } catch {
        if (line !== "") noise.push(line);
      }
    }
  });
}
