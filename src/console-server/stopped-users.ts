import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Returns the end users of a tenant of whom no turn may begin: those with a budget of 0. A tenant has at most a hundred budgets. */
export async function listStoppedUsers(sql: AnySql, tenantId: IdOf<"tenant">): Promise<string[]> {
  const rows = await sql<{ userId: string }[]>`
    select distinct user_id from budgets
    where tenant_id = ${tenantId} and enabled and limit_amount = 0 and user_id is not null and agent_id is null order by 1`;
  return rows.map(({ userId }) => userId);
}
