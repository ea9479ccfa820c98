import { type IdOf, newId } from "../../src/kernel/ids.ts";
import type { Harness, TestTenant } from "./harness.ts";

/** Writes a queued turn in a session of its own, without a job. Returns what a worker needs to claim it. */
export async function writeQueuedTurn(h: Harness, t: TestTenant, agentId: IdOf<"agent">) {
  const [sessionId, turnId] = [newId("session"), newId("turn")];
  await h.sql`
    insert into sessions (id, tenant_id, agent_id, visible) values (${sessionId}, ${t.id}, ${agentId}, true)`;
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id)
    values (${turnId}, ${t.id}, ${agentId}, ${sessionId}, 'session', 1, ${newId("message")})`;
  return { turnId, lockKey: sessionId, tenantId: t.id } as const;
}
