import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";
import type { Permission } from "./roles.ts";

/** The agents that a credential is limited to; null: all of its tenant. */
export type AgentIds = Permission["agentIds"];

/** Returns the condition, beginning with `and`, that rows belong to one of the agents; nothing where all are meant. */
export function andOf(sql: AnySql, agentId: postgres.Fragment, agentIds: AgentIds | undefined): postgres.Fragment {
  return agentIds == null ? sql`` : sql`and ${agentId} = any(${agentIds as string[]}::text[])`;
}

/** Returns the condition, beginning with `and`, that rows which are limited to agents are to none but these; nothing where all are meant. */
export function andWithin(sql: AnySql, rowAgentIds: postgres.Fragment, agentIds: AgentIds): postgres.Fragment {
  return agentIds === null ? sql`` : sql`and ${rowAgentIds} <@ ${agentIds as string[]}::text[]`;
}

/** Returns the condition, beginning with `and`, that workspaces are not those of other agents alone; nothing where all are meant. */
export function andSharedWith(sql: AnySql, workspaceId: postgres.Fragment, agentIds: AgentIds): postgres.Fragment {
  if (agentIds === null) return sql``;
  return sql`and (not exists (select 1 from agents a where a.workspace_id = ${workspaceId})
    or exists (select 1 from agents a where a.workspace_id = ${workspaceId} ${andOf(sql, sql`a.id`, agentIds)}))`;
}

/** Returns whether an agent is one of those that a credential reaches. */
export function reaches(agentIds: AgentIds, agentId: IdOf<"agent">): boolean {
  return agentIds === null || agentIds.includes(agentId);
}
