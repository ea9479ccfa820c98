import { type DiscardRefusal, discardForGood, drainWorker, isRefusal, retryJobsNow } from "../installation/actions.ts";
import type { Discarded } from "../installation/discard-job.ts";
import { commandOperator } from "../installation/operator-audit.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { isId } from "../kernel/ids.ts";
import { countJobs, findJob, type Job, listDead, type TaskCounts } from "../kernel/queue/stored-jobs.ts";
import { listWorkers, type WorkerRecord } from "../kernel/queue/workers.ts";
import {
  type Command,
  chooseVerb,
  jsonOption,
  list,
  readRowLimit,
  required,
  UsageError,
  type Values,
  withOptions,
} from "./command.ts";
import { readPause, readRunning, readStatus } from "./queue-pause.ts";
import { readEnd, readTenantList } from "./tenant-load.ts";
import type { Columns } from "./text-table.ts";

/** What the command line takes. */
export const queueUsage = `queue list [--json]
queue list --tenant ten_… [--json]
queue end --tenant ten_… [--agent ag_…] [--json]
queue list --dead [--task NAME] [--limit N] [--json]
queue show --job N [--json]
queue retry --job N | --dead [--task NAME] [--limit N]
queue discard --job N | --dead [--task NAME] [--limit N]
queue workers [--json]
queue drain --worker wk_…
queue status [--json]
queue running [--tenant ten_…] [--limit N] [--json]
queue pause [--tenant ten_…]
queue resume [--tenant ten_…]
`;

/** How many dead letters one command lists or changes, without `--limit` and at most. */
const limitDefault = 100;
const limitMax = 10_000;
/** This much of an error is in a list; `queue show` has all of it. */
const errorCharactersMax = 100;

const dead = { dead: { type: "boolean" }, task: { type: "string" }, limit: { type: "string" } } as const;
const job = { job: { type: "string" } } as const;

const verbs = {
  list: withOptions({ ...dead, tenant: { type: "string" }, ...jsonOption }, readList),
  end: withOptions({ tenant: { type: "string" }, agent: { type: "string" }, ...jsonOption }, readEnd),
  show: withOptions({ ...job, ...jsonOption }, readShow),
  retry: withOptions({ ...job, ...dead }, (values) => overJobs(values, retryAll)),
  discard: withOptions({ ...job, ...dead }, (values) => overJobs(values, discardAll)),
  workers: withOptions(jsonOption, readWorkers),
  drain: withOptions({ worker: { type: "string" } }, readDrain),
  status: withOptions(jsonOption, readStatus),
  running: withOptions({ tenant: { type: "string" }, limit: { type: "string" }, ...jsonOption }, readRunning),
  pause: withOptions({ tenant: { type: "string" } }, (values) => readPause(values, "pause")),
  resume: withOptions({ tenant: { type: "string" } }, (values) => readPause(values, "resume")),
};

/** Returns the command that the words name, read before anything is opened. Throws `UsageError`. */
export const readQueueCommand = (words: readonly string[]): Command => chooseVerb(verbs, words);

function readList(values: Values): Command {
  if (values.tenant !== undefined) {
    if (["dead", "task", "limit"].some((name) => values[name] !== undefined))
      throw new UsageError("--tenant and --dead exclude each other.");
    return readTenantList(values);
  }
  if (values.dead === true) {
    const which = readDead(values);
    return async (sql) => list(values, deadColumns, await listDead(sql, which));
  }
  if (values.task !== undefined || values.limit !== undefined)
    throw new UsageError("--task and --limit go with --dead.");
  return async (sql) => list(values, countColumns, await countJobs(sql));
}

function readShow(values: Values): Command {
  const id = readJob(values);
  return async (sql) => {
    const found = await findJob(sql, id);
    if (found === null) throw noJob(id);
    if (values.json === true) return `${JSON.stringify(found)}\n`;
    const { lastError, payload, ...rest } = found;
    const lines = Object.entries(rest).map(([name, value]) => `${name.padEnd(12)}${shown(value)}\n`);
    return `${lines.join("")}${"payload".padEnd(12)}${JSON.stringify(payload)}\n${lastError === null ? "" : `\n${lastError}\n`}`;
  };
}

function readWorkers(values: Values): Command {
  return async (sql) => list(values, workerColumns, await listWorkers(sql));
}

function readDrain({ worker }: Values): Command {
  if (typeof worker !== "string" || !isId("worker", worker))
    throw new UsageError("--worker must have the shape wk_…, as `queue workers` shows it.");
  return async (sql) => {
    if (!(await drainWorker(sql, commandOperator(), worker))) throw new UsageError(`There is no worker ${worker}.`);
    return `${worker} takes nothing new from now on, finishes what it runs, and then ends.\n`;
  };
}

/** Returns a command on one job, or on the dead ones. */
function overJobs(values: Values, work: (sql: AnySql, ids: readonly string[]) => Promise<string>): Command {
  if (values.dead === true && values.job !== undefined) throw new UsageError("--job and --dead exclude each other.");
  if (values.dead === true) {
    const which = readDead(values);
    return async (sql) =>
      work(
        sql,
        (await listDead(sql, which)).map(({ id }) => id),
      );
  }
  if (values.task !== undefined || values.limit !== undefined)
    throw new UsageError("--task and --limit go with --dead.");
  const id = readJob(values);
  return async (sql) => {
    if ((await findJob(sql, id)) === null) throw noJob(id);
    return work(sql, [id]);
  };
}

async function retryAll(sql: AnySql, ids: readonly string[]): Promise<string> {
  const retried = await retryJobsNow(sql, commandOperator(), ids);
  const [only] = ids;
  if (ids.length === 1 && retried.length === 0)
    throw new UsageError(`Job ${only} is running; there is nothing to retry.`);
  return `${retried.length} of ${ids.length} jobs will run again now.\n`;
}

async function discardAll(sql: AnySql, ids: readonly string[]): Promise<string> {
  const outcomes = new Map<Discarded, number>();
  for (const id of ids) {
    const outcome = await discardForGood(sql, commandOperator(), id);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (ids.length === 1 && isRefusal(outcome)) throw new UsageError(`Job ${id} ${refusals[outcome]}`);
  }
  const textOf = (outcome: Discarded) => (isRefusal(outcome) ? refusals[outcome] : endings[outcome]);
  const lines = [...outcomes].map(([outcome, jobs]) => `${jobs} ${textOf(outcome)}\n`);
  return lines.length === 0 ? "0 jobs to discard.\n" : lines.join("");
}

/** Why a job stays. */
const refusals: Record<DiscardRefusal, string> = {
  running: "is running: cancel its turn, or wait.",
  kept: "has something to delete, which would stay for ever, or to tell: retry it instead.",
  missing: "is gone already.",
};

/** What ended together with a discarded job. */
const endings: Record<Exclude<Discarded, DiscardRefusal>, string> = {
  turn: "discarded: its turn ended as failed.",
  run: "discarded: its task's run ended as failed.",
  fire: "discarded: its schedule goes on with the next fire.",
  alone: "discarded. (Workers add a new job for a chat or a billing connection that still has something to send.)",
};

function readDead(values: Values): { task: string | null; limit: number } {
  const { task } = values;
  return { task: typeof task === "string" ? task : null, limit: readRowLimit(values, limitDefault, limitMax) };
}

function readJob(values: Values): string {
  const id = required(values, "job");
  if (!/^\d{1,18}$/.test(id)) throw new UsageError("--job must be a job's number, as `queue list --dead` shows it.");
  return id;
}

function noJob(id: string): UsageError {
  return new UsageError(`There is no job ${id}.`);
}

function shown(value: unknown): string {
  if (value === null) return "none";
  return value instanceof Date ? value.toISOString() : String(value);
}

const countColumns: Columns<TaskCounts> = [
  ["TASK", ({ task }) => task],
  ["READY", ({ ready }) => String(ready)],
  ["OLDEST", ({ oldestSeconds }) => `${Math.round(oldestSeconds)} s`],
  ["SCHEDULED", ({ scheduled }) => String(scheduled)],
  ["RUNNING", ({ running }) => String(running)],
  ["DEAD", (counts) => String(counts.dead)],
];

const deadColumns: Columns<Job> = [
  ["JOB", ({ id }) => id],
  ["TASK", ({ task }) => task],
  ["ATTEMPTS", ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`],
  ["SINCE", ({ updatedAt }) => updatedAt.toISOString()],
  ["ERROR", ({ lastError }) => (lastError ?? "none").split("\n", 1)[0]?.slice(0, errorCharactersMax) ?? ""],
];

const workerColumns: Columns<WorkerRecord> = [
  ["WORKER", ({ workerId }) => workerId],
  ["STATE", ({ state }) => state],
  ["TURNS", ({ turns, slots }) => `${turns}/${slots}`],
  ["MOST", ({ tenants }) => tenants.map(({ tenantId, turns }) => `${tenantId} ${turns}`).join(", ") || "none"],
  ["HOST", ({ host, pid }) => `${host}:${pid ?? "?"}`],
  ["STARTED", ({ startedAt }) => startedAt.toISOString()],
  ["BEAT", ({ beatSecondsAgo }) => `${beatSecondsAgo.toFixed(1)} s ago`],
];
