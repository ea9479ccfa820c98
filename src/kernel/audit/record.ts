import type { AuditActor } from "../auth/actor.ts";
import { json, type Tx } from "../database/client.ts";
import { newId } from "../ids.ts";
import { addJobSql } from "../queue/add-job.ts";
import type { ChangedValue } from "./changed-values.ts";

/** What was done: a noun in the singular and a verb, such as `agent.update`. */
export type AuditAction = `${string}.${string}`;

/** One thing that somebody did. */
export interface AuditEntry {
  /** Null: an operator did it, and it is no tenant's. */
  readonly tenantId: string | null;
  readonly actor: AuditActor;
  readonly action: AuditAction;
  readonly resourceId: string | null;
  /** The agent that it is about, for who sees only some; left out where it is about none. */
  readonly agentId?: string | null;
  /** The request that asked for it; null when none did. */
  readonly requestId: string | null;
  /** The names of the fields that changed. */
  readonly changes: readonly string[];
  /** What settings among them became (`changed-values.ts`); left out: nothing is kept. */
  readonly values?: readonly ChangedValue[];
}

/**
 * Writes down what the caller's transaction does: it stays if and only if the change does. Where a webhook of the tenant is
 * to hear of it, so does the job that tells it.
 */
export async function recordAudit(inner: Tx, entry: AuditEntry): Promise<void> {
  const { tenantId, actor, action, resourceId, agentId = null, requestId, changes, values = [] } = entry;
  const job = addJobSql(inner, "audit.tell", { auditEventId: inner`id`, tenantId: inner`tenant_id` });
  await inner`
    with /* audit.record */ recorded as (
      insert into audit_events (id, tenant_id, actor_type, actor_id, action, resource_id, agent_id, request_id, changes, changed_values)
      values (${newId("auditEvent")}, ${tenantId}, ${actor.type}, ${actor.id}, ${action}, ${resourceId}, ${agentId}, ${requestId},
        ${changes as string[]}, ${values.length === 0 ? null : json(inner, values)})
      returning id, tenant_id
    )
    select (${job}).id from recorded where exists (
      select 1 from webhooks w where w.tenant_id = recorded.tenant_id and w.enabled and 'audit.recorded' = any(w.events))`;
}
