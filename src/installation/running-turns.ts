import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** A turn that runs now: ids and times, no content. */
export interface RunningTurnRow {
  readonly turnId: IdOf<"turn">;
  readonly tenantId: IdOf<"tenant">;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session"> | null;
  readonly kind: string;
  /** Since it was accepted. */
  readonly ageSeconds: number;
  /** Since its worker claimed it. */
  readonly runsSeconds: number;
  /** Whether its step waits for the model, or has begun to run tools. */
  readonly runs: "model" | "tool";
  readonly stepsDone: number;
  /** How often it was claimed: more than once after the loss of a worker. */
  readonly attempt: number;
  readonly workerId: IdOf<"worker"> | null;
  /** Empty where the worker is gone. */
  readonly host: string;
}

/** Returns the running turns that were claimed first, of a tenant or (null) of all. */
export function listRunningTurns(
  sql: AnySql,
  { tenantId, limit }: { readonly tenantId: string | null; readonly limit: number },
): Promise<RunningTurnRow[]> {
  const ofTenant = tenantId === null ? sql`` : sql`and t.tenant_id = ${tenantId}`;
  return sql<RunningTurnRow[]>`
    select /* turn.list_running */ t.id as turn_id, t.tenant_id, t.agent_id, t.session_id, t.kind, t.steps_done, t.attempt, t.worker_id,
      extract(epoch from now() - t.accepted_at)::float8 as age_seconds,
      greatest(0, extract(epoch from now() - coalesce(t.claimed_at, t.accepted_at)))::float8 as runs_seconds,
      case when t.tool_events is null then 'model' else 'tool' end as runs, coalesce(w.host, '') as host
    from turns t left join workers w on w.id = t.worker_id
    where t.status = 'running' ${ofTenant} order by coalesce(t.claimed_at, t.accepted_at), t.id limit ${limit}`;
}
