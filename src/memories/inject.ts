import type { AnySql } from "../kernel/database/client.ts";
import { memoriesPerAgentMax } from "./schema.ts";

/** Injected memories may add this much to a turn's instructions; the least recently accessed are left out first. */
const injectedBytesMax = 64 * 1024;

/**
 * Returns what the agent remembers, as a system text: its tenant-level memories and
 * those of the session's user, the oldest first, so that a new one changes nothing of what
 * stands before it. Empty when there is nothing. Does not touch `lastAccessedAt`
 * (docs/decisions/memories.md).
 */
export async function injectedMemories(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  userId: string,
): Promise<string> {
  const rows = await sql<{ id: string; text: string }[]>`
    select id, text from (
      select id, text, sum(octet_length(text)) over (order by last_accessed_at desc, id desc) as bytes
      from memories where tenant_id = ${tenantId} and agent_id = ${agentId} and user_id in ('', ${userId})
    ) ranked
    where bytes <= ${injectedBytesMax} order by id limit ${memoriesPerAgentMax}`;
  if (rows.length === 0) return "";
  const entries = rows.map(({ id, text }) => `- [${id}] ${text.replaceAll("\n", "\n  ")}`);
  return `What you remember from earlier conversations:\n${entries.join("\n")}`;
}
