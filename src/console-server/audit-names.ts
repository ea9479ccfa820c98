import type { AuditedName } from "../console-shapes/audit.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Where the names of resources are, by the first word of an action. */
const namedIn = {
  ...{ agent: "agents", task: "tasks", prompt: "prompts", provider: "providers", budget: "budgets" },
  ...{ workspace: "workspaces", sandbox: "workspaces", api_key: "api_keys", skill: "library_skills" },
  ...{ mcp_connection: "mcp_connections", chat_connection: "chat_connections" },
};

/** Each is one probe of a primary key, of the kind that the event is about. */
function nameLookups(sql: AnySql) {
  const lookups = Object.entries(namedIn).map(
    ([noun, table]) =>
      sql`when ${sql.unsafe(`'${noun}'`)} then (select n.name from ${sql(table)} n where n.id = e.resource_id and n.tenant_id = e.tenant_id)`,
  );
  const members = sql`when 'member' then (select coalesce(m.name, m.email) from members m where m.id = e.resource_id and m.tenant_id = e.tenant_id)`;
  const tenants = sql`when 'tenant' then (select n.name from tenants n where n.id = e.resource_id and n.id = e.tenant_id)`;
  return [...lookups, tenants].reduce((all, lookup) => sql`${all} ${lookup}`, members);
}

/** Returns what the resources of audit events are called now. Those that have no name, or are gone, are left out. */
export function readAuditNames(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { auditEventIds, agentIds }: { readonly auditEventIds: readonly string[]; readonly agentIds: AgentIds },
): Promise<AuditedName[]> {
  return sql<AuditedName[]>`
    select * from (
      select e.id as audit_event_id, case split_part(e.action, '.', 1) ${nameLookups(sql)} end as name
      from audit_events e
      where e.id = any(${auditEventIds as string[]}::text[]) and e.tenant_id = ${tenantId} ${andOf(sql, sql`e.agent_id`, agentIds)}
    ) named where name is not null`;
}
