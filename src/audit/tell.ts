import { type AnySql, json } from "../kernel/database/client.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import { tellWebhooks } from "../webhooks/events.ts";
import { findAuditEvent } from "./store.ts";

/** The job `audit.tell`: tells webhooks of an audit event, whole. Safe to repeat. */
export async function tellAuditEvent(
  sql: AnySql,
  { auditEventId, tenantId }: JobPayloads["audit.tell"],
): Promise<void> {
  const event = await findAuditEvent(sql, tenantId, auditEventId);
  if (event === null) return;
  const told = tellWebhooks(sql, [
    {
      type: "audit.recorded",
      from: sql`e`,
      tenantId: sql`e.tenant_id`,
      ids: { auditEventId: sql`e.id` },
      agentId: sql`e.agent_id`,
      status: sql`'recorded'`,
      event: sql`${json(sql, event)}`,
      once: { key: sql`e.id`, at: sql`e.at` },
    },
  ]);
  await sql`
    with /* audit.tell */ e as (select id, tenant_id, agent_id, at from audit_events where id = ${auditEventId}), ${told}
    select count(*) from webhook_enqueued`;
}
