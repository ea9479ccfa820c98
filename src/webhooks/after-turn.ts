import type { AnySql } from "../kernel/database/client.ts";
import { tellWebhooks } from "./events.ts";

/** Tells webhooks that a turn has ended. Part of the job `turn.after`; safe to repeat. */
export async function tellTurnEnded(sql: AnySql, turnId: string): Promise<void> {
  const told = tellWebhooks(sql, [
    {
      type: "turn.ended",
      from: sql`ended e`,
      tenantId: sql`e.tenant_id`,
      ids: { turnId: sql`e.id`, agentId: sql`e.agent_id`, sessionId: sql`e.session_id` },
      status: sql`e.status`,
      once: { key: sql`e.id`, at: sql`e.finished_at` },
    },
  ]);
  await sql`
    with /* webhook.turn_ended */ ended as (
      select id, tenant_id, agent_id, session_id, status, finished_at from turns where id = ${turnId} and finished_at is not null
    ), ${told}
    select count(*) from webhook_enqueued`;
}
