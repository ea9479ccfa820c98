import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";

/** What tasks and their runs need of their agent. */
export interface TaskAgent {
  readonly status: "active" | "disabled";
  readonly managed: boolean;
  /** The version that a run started now has. */
  readonly version: number;
  readonly hasVersion: boolean;
}

/** Reads an agent with the version that a task names, or its current one; null when it was deleted. */
export async function readTaskAgent(sql: AnySql, agentId: string, version: number | null): Promise<TaskAgent | null> {
  const [row] = await sql<TaskAgent[]>`
    select a.status, a.managed, coalesce(${version}::int, a.version) as version, v.version is not null as has_version
    from agents a left join agent_versions v on v.agent_id = a.id and v.version = coalesce(${version}::int, a.version)
    where a.id = ${agentId}`;
  return row ?? null;
}

/** Returns the agent of a task that can run. Throws 404 `not_found` or `agent_version_not_found`, 409 `admin_agent_managed` or `agent_disabled`. */
export function runnableTaskAgent(agent: TaskAgent | null): TaskAgent {
  if (agent === null) throw new ApiError("not_found");
  if (agent.managed) throw new ApiError("admin_agent_managed");
  if (!agent.hasVersion) throw new ApiError("version_missing_for_run");
  if (agent.status === "disabled") throw new ApiError("agent_disabled");
  return agent;
}
