import type { AnySql } from "../kernel/database/client.ts";

/**
 * Whether an agent has a skill: its own, or one of these of the library that still
 * exists. In a transaction that holds the agent's lock the result stays true until
 * the end: a deletion of a library skill waits for the key lock taken here.
 */
export async function hasSkill(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  libraryIds: readonly string[],
): Promise<boolean> {
  const [own] = await sql`select 1 from agent_skills where agent_id = ${agentId} limit 1`;
  if (own !== undefined || libraryIds.length === 0) return own !== undefined;
  const named = await sql`
    select 1 from library_skills
    where id = any(${libraryIds as string[]}) and (tenant_id = ${tenantId} or tenant_id is null)
    order by id for key share`;
  return named.length > 0;
}
