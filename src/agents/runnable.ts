import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { LoadedAgent } from "./load.ts";
import type { AgentConfig } from "./schema.ts";

/**
 * Whether an agent can run a turn, asked three times: by the statement that
 * accepts a turn (`runnableAgent`), before something else is asked or rendered for
 * the turn (`requireRunnable`), and by the worker, because the agent may
 * have changed since (`missingOf` alone: a turn that was accepted is run even when
 * the agent was disabled meanwhile).
 */

/** An agent that has all a turn needs, but for the operator's own provider. */
export type CompleteAgent = LoadedAgent & {
  readonly config: AgentConfig & { readonly model: string };
};

/** What an agent has not got that a turn needs. */
export type MissingPart = "agent" | "version" | "provider" | "provider or model";

/**
 * Returns what a turn needs and the agent has not got, or null. `provider`: the
 * one it names was deleted; `provider or model`: it names none.
 */
export function missingOf(agent: LoadedAgent | null, hasPlatformProvider: boolean): MissingPart | null {
  if (agent === null) return "agent";
  if (agent.config === null) return "version";
  if (agent.providerMissing) return "provider";
  const hasProvider = agent.provider !== null || hasPlatformProvider;
  return hasProvider && agent.config.model !== null ? null : "provider or model";
}

/**
 * Throws when the agent cannot run a new turn: 404 `not_found`,
 * `version_missing_for_run` or `provider_missing_for_turn`, 409 `agent_disabled`,
 * `provider_required` (400; form A: 502), `sandbox_required_for_turn`.
 */
export function requireRunnable(
  agent: LoadedAgent | null,
  hasPlatformProvider: boolean,
): asserts agent is CompleteAgent {
  const missing = missingOf(agent, hasPlatformProvider);
  if (agent === null || missing === "agent") throw new ApiError("not_found");
  if (agent.config === null || missing === "version") throw new ApiError("version_missing_for_run");
  if (agent.status === "disabled") throw new ApiError("agent_disabled");
  if (missing === "provider") throw new ApiError("provider_missing_for_turn");
  if (missing === "provider or model") throw new ApiError("provider_required");
  if (agent.config.tools.includes("workspace") && agent.workspaceId === null)
    throw new ApiError("sandbox_required_for_turn");
}

/** Why an agent cannot run a turn. */
export type RunnableFault =
  | "not_found"
  | "version_missing_for_run"
  | "agent_disabled"
  | "provider_missing_for_turn"
  | "provider_required"
  | "sandbox_required_for_turn";

/** An agent in SQL, and the version that is asked for: null for its newest. */
export interface AskedAgent {
  readonly tenantId: postgres.Fragment;
  readonly agentId: postgres.Fragment;
  readonly version: postgres.Fragment;
  readonly hasPlatformProvider: boolean;
}

/** Returns the query of an agent and its version that is asked for: none, or one row whose `refusal` is what `requireRunnable` would throw. */
export function runnableAgent(
  sql: AnySql,
  { tenantId, agentId, version, hasPlatformProvider }: AskedAgent,
): postgres.Fragment {
  return sql`
    select a.id, v.version,
      case when v.version is null then 'version_missing_for_run'
        when a.status = 'disabled' then 'agent_disabled'
        when v.provider_id is not null and p.id is null then 'provider_missing_for_turn'
        when v.provider_id is null and not ${hasPlatformProvider} or v.config ->> 'model' is null then 'provider_required'
        when a.workspace_id is null and (v.config -> 'tools')::jsonb ? 'workspace' then 'sandbox_required_for_turn'
      end as refusal
    from agents a
    left join agent_versions v on v.agent_id = a.id and v.version = coalesce(${version}, a.version)
    left join providers p on p.id = v.provider_id and p.tenant_id = a.tenant_id
    where a.id = ${agentId} and a.tenant_id = ${tenantId}`;
}
