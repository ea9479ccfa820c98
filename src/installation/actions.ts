/**
 * What an operator does to the installation, by a command or in the console: each of these
 * writes its audit event in its own transaction.
 */

import { createApiKey, deleteApiKey } from "../apikeys/store.ts";
import { settingValues } from "../kernel/audit/changed-values.ts";
import { lockAccess } from "../kernel/auth/standing.ts";
import type { AnySql, Sql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addPause, removePause } from "../kernel/queue/pauses.ts";
import { retryJobs } from "../kernel/queue/stored-jobs.ts";
import { askToDrain } from "../kernel/queue/workers.ts";
import { type EndedTurns, endTurnsOf } from "../sessions/cancel/end-all.ts";
import { readTenantLoad } from "../sessions/load.ts";
import { cancelQueuedRuns } from "../tasks/run-states.ts";
import { changeTenant, createTenantWithKey, isActiveTenant, type TenantChange } from "../tenants/store.ts";
import { type Discarded, discardJob } from "./discard-job.ts";
import { type Operator, recordOperator } from "./operator-audit.ts";

/** Asks a worker to take nothing new, to finish what it runs, and to end. Returns false when there is no such worker. */
export function drainWorker(sql: AnySql, operator: Operator, workerId: IdOf<"worker">): Promise<boolean> {
  return tx(sql, async (inner) => {
    if (!(await askToDrain(inner, workerId))) return false;
    await recordOperator(inner, "worker.drain", workerId, { operator });
    return true;
  });
}

/**
 * Lets workers begin no turns any more, of a tenant or (null) of anybody, or lets them begin again; what runs goes on.
 * They follow with their next beat. Returns false where that was so before, or there is no such tenant.
 */
export function pauseTurns(
  sql: AnySql,
  operator: Operator,
  tenantId: IdOf<"tenant"> | null,
  wanted: "pause" | "resume",
): Promise<boolean> {
  return tx(sql, async (inner) => {
    if (!(await (wanted === "pause" ? addPause : removePause)(inner, tenantId))) return false;
    await recordOperator(inner, `queue.${wanted}`, tenantId ?? "all", { operator, tenantId });
    return true;
  });
}

/** Makes a tenant with its first API key, whose token is returned here and stored nowhere. */
export function makeTenant(
  sql: AnySql,
  operator: Operator,
  name: string,
): Promise<{ tenantId: IdOf<"tenant">; token: string }> {
  return tx(sql, async (inner) => {
    const made = await createTenantWithKey(inner, { name, form: "b", adminAgent: false });
    await recordOperator(inner, "tenant.create", made.tenantId, { operator, tenantId: made.tenantId });
    return made;
  });
}

/**
 * Makes an API key for a tenant that lost its own, in the place of another one where that is named; its token is returned here
 * and stored nowhere. Returns null where there is no such tenant. Throws what making and deleting a key throws.
 */
export function makeKey(
  sql: AnySql,
  operator: Operator,
  tenantId: IdOf<"tenant">,
  name: string,
  replaced: IdOf<"apiKey"> | null = null,
): Promise<{ apiKeyId: IdOf<"apiKey">; token: string } | null> {
  return tx(sql, async (inner) => {
    if (replaced !== null) await lockAccess(inner, tenantId);
    if (!(await isActiveTenant(inner, tenantId))) return null;
    if (replaced !== null) {
      await deleteApiKey(inner, tenantId, replaced);
      await recordOperator(inner, "api_key.delete", replaced, { operator, tenantId });
    }
    const { apiKey, token } = await createApiKey(inner, tenantId, name, null);
    await recordOperator(inner, "api_key.create", apiKey.id, { operator, tenantId });
    return { apiKeyId: apiKey.id, token };
  });
}

/** Jobs that one transaction adds again. */
const retryStepJobs = 500;

/** Lets jobs run again now, with all their attempts. Returns the numbers of those that do: what runs is left. */
export async function retryJobsNow(sql: AnySql, operator: Operator, ids: readonly string[]): Promise<string[]> {
  const retried: string[] = [];
  for (let start = 0; start < ids.length; start += retryStepJobs) {
    const again = await tx(sql, async (inner) => {
      const jobs = await retryJobs(inner, ids.slice(start, start + retryStepJobs));
      for (const id of jobs) await recordOperator(inner, "job.retry", id, { operator });
      return jobs;
    });
    retried.push(...again);
  }
  return retried;
}

/** Why a job was not discarded. */
export type DiscardRefusal = Extract<Discarded, "running" | "kept" | "missing">;

/** Returns whether a job was not discarded. */
export function isRefusal(outcome: Discarded): outcome is DiscardRefusal {
  return outcome === "running" || outcome === "kept" || outcome === "missing";
}

/** Takes a job out of the queue for good. Returns what became of it. */
export function discardForGood(sql: AnySql, operator: Operator, id: string): Promise<Discarded> {
  return tx(sql, async (inner) => {
    const ended = await discardJob(inner, id);
    if (!isRefusal(ended)) await recordOperator(inner, "job.discard", id, { operator });
    return ended;
  });
}

/** Changes a tenant. Returns the names of the fields that have another value now; null when there is no such tenant. */
export function setTenant(
  sql: AnySql,
  operator: Operator,
  tenantId: IdOf<"tenant">,
  change: TenantChange,
): Promise<string[] | null> {
  return tx(sql, async (inner) => {
    const changed = await changeTenant(inner, tenantId, change);
    if (changed === null) return null;
    const changes = changed.map(({ field }) => field);
    // Its limits: a name is somebody's words, which an event outlives.
    const limits = changed.filter((one) => "after" in one).filter(({ field }) => field !== "name");
    const values = settingValues(limits);
    if (changes.length > 0)
      await recordOperator(inner, "tenant.set", tenantId, { operator, tenantId, changes, values });
    return changes;
  });
}

/** What of a tenant was ended: its turns, and runs of tasks that had not begun. */
export type EndedWork = EndedTurns & { readonly runs: number };

/**
 * Cancels everything of a tenant that is queued, running or waiting; only an agent's where one is named. Returns what is
 * missing, having written nothing, when there is no such tenant, or it has no such agent.
 */
export async function endWorkOf(
  sql: Sql,
  operator: Operator,
  tenantId: IdOf<"tenant">,
  agentId: IdOf<"agent"> | null,
): Promise<EndedWork | "tenant" | "agent"> {
  if ((await readTenantLoad(sql, tenantId)) === null) return "tenant";
  if (agentId !== null && !(await hasAgent(sql, tenantId, agentId))) return "agent";
  // Its many steps have no transaction in common: what is written down is that they began.
  const [action, resourceId] =
    agentId === null ? (["tenant.end_turns", tenantId] as const) : (["agent.end_turns", agentId] as const);
  await tx(sql, (inner) => recordOperator(inner, action, resourceId, { operator, tenantId }));
  // The runs first: one that has not begun would accept a turn.
  const runs = await cancelQueuedRuns(sql, tenantId, agentId);
  const turns = await endTurnsOf(sql, tenantId, agentId === null ? {} : { agentId });
  return { ...turns, runs };
}

/** Returns whether the tenant has the agent, one that is being deleted too: its turns may not have ended yet. */
async function hasAgent(sql: AnySql, tenantId: string, agentId: string): Promise<boolean> {
  const [row] = await sql`select 1 from agents where tenant_id = ${tenantId} and id = ${agentId}`;
  return row !== undefined;
}
