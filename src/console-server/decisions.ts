import { actorName } from "../audit/actor-name.ts";
import type { DecidedCall } from "../console-shapes/words.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

interface DecisionRow extends Omit<DecidedCall, "at"> {
  readonly at: Date;
}

/** Returns who decided approvals of a tenant, and when. Those that are not decided yet, and that it does not have, are left out. */
export async function readDecisions(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { approvalIds, agentIds }: { readonly approvalIds: readonly string[]; readonly agentIds: AgentIds },
): Promise<DecidedCall[]> {
  const actor = { type: sql`a.decided_by ->> 'type'`, id: sql`a.decided_by ->> 'id'`, tenantId: sql`a.tenant_id` };
  const rows = await sql<DecisionRow[]>`
    select a.id as approval_id, a.decided_at as at, ${actor.type} as by_type,
      coalesce(a.decided_by_name, ${actorName(sql, actor)}, ${actor.id}) as by_name
    from approvals a join sessions s on s.id = a.session_id
    where a.id = any(${approvalIds as string[]}::text[]) and a.tenant_id = ${tenantId} and a.decided_at is not null
      and s.deleted_at is null ${andOf(sql, sql`s.agent_id`, agentIds)}`;
  return rows.map(({ at, ...row }) => ({ ...row, at: at.toISOString() }));
}
