import { randomUUID } from "node:crypto";
import { sleep } from "../../kernel/async/wait.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { ToolError } from "../../tools/error.ts";
import { commandLeaseMs, processWaitMs } from "../limits.ts";
import { checkReady, type WorkspaceStatus } from "../store.ts";
import { Queues } from "./queues.ts";

/**
 * The right to run programs in a workspace, which one command has at a time: columns of the workspace's row, and not a lock
 * of a connection, because nothing is held while a program runs. It runs out by Postgres' clock when
 * the process that has it is gone, and what a command wrote is stored only while its command still has it.
 */

/** Commands that wait in this process wait here, and one of them asks Postgres. */
const queues = new Queues();

/** How long who has not got it waits until it asks again, at least and at most. */
const askAgainMs = [25, 250] as const;

interface Leased {
  readonly sql: Sql;
  readonly tenantId: string;
  readonly workspaceId: string;
}

/**
 * Waits until no other command runs in the workspace, `processWaitMs` at most, and holds the lease for `work`, which is given its name. Returns
 * what `work` returns, and gives the lease back meanwhile. Throws `ToolError` when it was not free in time, 404 `workspace_not_found`,
 * 409 `workspace_delete_conflict`, the signal's reason, and what `work` throws.
 */
export function withLease<T>(workspace: Leased, signal: AbortSignal, work: (lease: string) => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(processWaitMs);
  const waiting = AbortSignal.any([signal, limit]);
  const late = () => (signal.aborted ? signal.reason : new ToolError(stillRuns));
  return new Promise((resolve, reject) => {
    const stop = () => reject(late());
    waiting.addEventListener("abort", stop, { once: true });
    const run = async () => {
      const lease = randomUUID();
      await takeInTurn(workspace, lease, waiting);
      waiting.removeEventListener("abort", stop);
      const worked = async () => {
        if (waiting.aborted) throw late();
        return work(lease);
      };
      // The next command of this process waits until the lease is given back; the caller does not.
      await holding(workspace, lease, () => worked().then(resolve, reject));
    };
    queues.run(workspace.workspaceId, run).catch(reject);
  });
}

const stillRuns = "Another command still runs in this workspace; try again later.";

/** Asks until it has the lease, or `waiting` is aborted. */
async function takeInTurn(workspace: Leased, lease: string, waiting: AbortSignal): Promise<void> {
  let waitMs: number = askAgainMs[0];
  while (!waiting.aborted && !(await take(workspace, lease))) {
    await sleep(waitMs * (0.5 + Math.random() / 2), waiting);
    waitMs = Math.min(2 * waitMs, askAgainMs[1]);
  }
}

async function holding<T>(workspace: Leased, lease: string, work: () => Promise<T>): Promise<T> {
  const renewal = setInterval(() => void take(workspace, lease).catch(() => {}), commandLeaseMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    // When the database is away, it runs out by itself.
    await end(workspace, lease).catch(() => {});
  }
}

/** Takes or renews it. Returns whether it has it. Throws 404 and 409 where the workspace cannot be used. */
async function take({ sql, tenantId, workspaceId }: Leased, lease: string): Promise<boolean> {
  const [row] = await sql<{ commandLease: string; status: WorkspaceStatus }[]>`
    with taken as (
      update workspaces set command_lease = ${lease},
        command_lease_ends_at = clock_timestamp() + ${commandLeaseMs} * interval '1 millisecond'
      where id = ${workspaceId} and tenant_id = ${tenantId} and status = 'ready'
        and (command_lease = ${lease} or command_lease is null or command_lease_ends_at < clock_timestamp())
      returning command_lease, status
    )
    select command_lease, status from taken
    union all
    select command_lease, status from workspaces
    where id = ${workspaceId} and tenant_id = ${tenantId} and not exists (select 1 from taken)`;
  checkReady(row);
  return row.commandLease === lease;
}

async function end({ sql, workspaceId }: Leased, lease: string): Promise<void> {
  await sql`
    update workspaces set command_lease = null, command_lease_ends_at = null
    where id = ${workspaceId} and command_lease = ${lease}`;
}

/** Returns whether a command still has its lease; for the transaction that stores what it wrote, which holds the workspace's lock. */
export async function hasLease(sql: AnySql, workspaceId: string, lease: string): Promise<boolean> {
  const [row] = await sql`select 1 from workspaces where id = ${workspaceId} and command_lease = ${lease}`;
  return row !== undefined;
}
