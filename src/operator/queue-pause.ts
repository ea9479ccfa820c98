import { pauseTurns } from "../installation/actions.ts";
import { commandOperator } from "../installation/operator-audit.ts";
import { listRunningTurns, type RunningTurnRow } from "../installation/running-turns.ts";
import { type Backlog, readBacklog } from "../kernel/queue/backlog.ts";
import { listPauses, type QueuePause } from "../kernel/queue/pauses.ts";
import { type Command, list, readRowLimit, type Values } from "./command.ts";
import { noTenant, readTenant } from "./tenant-words.ts";
import { type Columns, table } from "./text-table.ts";

/** Running turns that one command shows where `--limit` says nothing, and at most. */
const limitDefault = 50;
const limitMax = 1_000;

/** Returns the commands `queue pause` and `queue resume`. */
export function readPause(values: Values, wanted: "pause" | "resume"): Command {
  const tenantId = values.tenant === undefined ? null : readTenant(values);
  return async (sql) => {
    const changed = await pauseTurns(sql, commandOperator(), tenantId, wanted);
    const whose = tenantId === null ? "any tenant" : tenantId;
    if (!changed && tenantId !== null) {
      const [known] = await sql`select 1 from tenants where id = ${tenantId} and deleted_at is null`;
      if (known === undefined) throw noTenant(tenantId);
    }
    if (wanted === "pause")
      return `Workers begin no turns of ${whose}${changed ? " from now on; what runs goes on" : ", as before"}.\n`;
    if (!changed) return `No pause of ${whose} was in force.\n`;
    const others = await listPauses(sql);
    return `Workers begin turns of ${whose} again.\n${others.length === 0 ? "" : `${others.length} other pauses hold.\n`}`;
  };
}

/** Returns the command `queue status`. */
export function readStatus(values: Values): Command {
  return async (sql, { workerConcurrency }) => {
    const { paused: _, ...backlog } = await readBacklog(sql, workerConcurrency);
    const pauses = await listPauses(sql);
    if (values.json === true) return `${JSON.stringify({ ...backlog, pauses })}\n`;
    const held = pauses.length === 0 ? "Nothing is paused.\n" : `Paused:\n${table(pauseColumns, pauses)}`;
    return `${table(backlogColumns, [backlog])}\n${held}`;
  };
}

/** Returns the command `queue running`. */
export function readRunning(values: Values): Command {
  const tenantId = values.tenant === undefined ? null : readTenant(values);
  const limit = readRowLimit(values, limitDefault, limitMax);
  return async (sql) => list(values, runningColumns, await listRunningTurns(sql, { tenantId, limit }));
}

const backlogColumns: Columns<Backlog> = [
  ["QUEUED", ({ queued }) => String(queued)],
  ["PARKED", ({ parked }) => String(parked)],
  ["OLDEST", ({ oldestSeconds }) => `${Math.round(oldestSeconds)} s`],
  ["RUNNING", ({ running }) => String(running)],
  ["SLOTS", ({ slots }) => String(slots)],
];

const pauseColumns: Columns<QueuePause> = [
  ["TENANT", ({ tenantId }) => tenantId ?? "all"],
  ["SINCE", ({ pausedAt }) => pausedAt.toISOString()],
];

const runningColumns: Columns<RunningTurnRow> = [
  ["TURN", ({ turnId }) => turnId],
  ["AGE", ({ ageSeconds }) => `${Math.round(ageSeconds)} s`],
  ["RUNS", ({ runsSeconds }) => `${Math.round(runsSeconds)} s`],
  ["IN", ({ runs }) => runs],
  ["STEPS", ({ stepsDone }) => String(stepsDone)],
  ["TENANT", ({ tenantId }) => tenantId],
  ["AGENT", ({ agentId }) => agentId],
  ["WORKER", ({ workerId, host }) => (workerId === null ? "none" : `${workerId} ${host}`)],
];
