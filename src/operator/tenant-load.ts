import { type EndedWork, endWorkOf } from "../installation/actions.ts";
import { commandOperator } from "../installation/operator-audit.ts";
import { type IdOf, isId } from "../kernel/ids.ts";
import { readTenantLoad, type TenantLoad } from "../sessions/load.ts";
import { type Command, required, UsageError, type Values } from "./command.ts";
import { type Columns, table } from "./text-table.ts";

/** Returns the command `queue list --tenant`. */
export function readTenantList(values: Values): Command {
  const tenantId = readTenantId(values);
  return async (sql) => {
    const load = await readTenantLoad(sql, tenantId);
    if (load === null) throw new UsageError(`There is no tenant ${tenantId}.`);
    if (values.json === true) return `${JSON.stringify(load)}\n`;
    return table(loadColumns, [load]) + (load.workers.length === 0 ? "" : `\n${table(heldColumns, load.workers)}`);
  };
}

/** Returns the command `queue end`. */
export function readEnd(values: Values): Command {
  const tenantId = readTenantId(values);
  const agentId = values.agent === undefined ? null : readAgentId(values);
  return async (sql) => {
    if ("savepoint" in sql) throw new Error("A command of bounded steps runs in no transaction.");
    const ended = await endWorkOf(sql, commandOperator(), tenantId, agentId);
    if (ended === "tenant") throw new UsageError(`There is no tenant ${tenantId}.`);
    if (ended === "agent") throw new UsageError(`The tenant ${tenantId} has no agent ${agentId}.`);
    return values.json === true ? `${JSON.stringify(ended)}\n` : textOfEnd(ended);
  };
}

function textOfEnd({ queued, running, waiting, runs }: EndedWork): string {
  const turns = `${queued + running + waiting} turns are canceled: ${queued} queued, ${running} running, ${waiting} waiting.\n`;
  return runs === 0 ? turns : `${turns}${runs} runs of tasks that had not begun are canceled.\n`;
}

function readTenantId(values: Values): IdOf<"tenant"> {
  const tenantId = required(values, "tenant");
  if (!isId("tenant", tenantId)) throw new UsageError("--tenant must have the shape ten_….");
  return tenantId;
}

function readAgentId(values: Values): IdOf<"agent"> {
  const agentId = required(values, "agent");
  if (!isId("agent", agentId)) throw new UsageError("--agent must have the shape ag_….");
  return agentId;
}

const loadColumns: Columns<TenantLoad> = [
  ["TENANT", ({ tenantId }) => tenantId],
  ["QUEUED", ({ queued }) => String(queued)],
  ["OLDEST", ({ oldestSeconds }) => `${Math.round(oldestSeconds)} s`],
  ["PARKED", ({ parked }) => String(parked)],
  ["RUNNING", ({ running }) => String(running)],
  ["WAITING", ({ waiting }) => String(waiting)],
];

const heldColumns: Columns<TenantLoad["workers"][number]> = [
  ["WORKER", ({ workerId }) => workerId],
  ["TURNS", ({ turns }) => String(turns)],
];
