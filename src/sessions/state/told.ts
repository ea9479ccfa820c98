import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";
import { hasWebhooks } from "../../webhooks/events.ts";

/**
 * Returns whether the ends of a tenant's turns are to be told to anybody but their readers: to a
 * webhook, or to a billing provider. `tenant` names its row in the statement.
 */
export function isToldOf(sql: AnySql, tenant: postgres.Fragment): postgres.Fragment {
  return sql`(${tenant}.monetization or ${hasWebhooks(sql, sql`${tenant}.id`)})`;
}

/** Returns the condition that nobody is to be told of the end of a turn: it is not true either where the tenant's row is gone. */
export function isNobodyTold(sql: AnySql, tenantId: postgres.Fragment): postgres.Fragment {
  return sql`not (select ${isToldOf(sql, sql`n`)} from tenants n where n.id = ${tenantId})`;
}
