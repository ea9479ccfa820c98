import { ApiError, invalid, invalidAll } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { clientToolIssues } from "./client-tools.ts";
import { presentSettings } from "./model-settings.ts";
import { completePolicy, policyIssues } from "./policy.ts";
import type { AgentConfig, AgentFields } from "./schema.ts";

/**
 * Where the two forms of the interface behave differently. Routes choose a set
 * by the request's form.
 */
export interface AgentRules {
  /** The model of a new agent that names none. */
  readonly defaultModel: string | null;
  /** Whether a new agent that names no workspace gets a new one. */
  readonly makesWorkspace: boolean;
  /** Whether a workspace serves one agent only. */
  readonly exclusiveWorkspace: boolean;
  /** Whether a model may stand without a provider (the platform's then runs it). */
  readonly modelAlone: boolean;
}

/** An agent's state as one request would leave it. */
export interface EffectiveState {
  readonly config: AgentConfig;
  readonly workspaceId: IdOf<"workspace"> | null;
}

/** Lays a request's fields over a configuration. Fields that are left out keep their value. */
export function applyFields(config: AgentConfig, fields: AgentFields): AgentConfig {
  const {
    workspaceId: _notVersioned,
    changeNote: _ofTheVersion,
    approvalInChat,
    approvalInTasks,
    modelSettings,
    ...plain
  } = fields;
  return {
    ...config,
    ...plain,
    ...(approvalInChat === undefined ? {} : { approvalInChat: completePolicy(approvalInChat) }),
    ...(modelSettings === undefined ? {} : { modelSettings: presentSettings(modelSettings) }),
    ...(approvalInTasks === undefined ? {} : { approvalInTasks: completePolicy(approvalInTasks) }),
  };
}

/**
 * Checks the rules that need no network request, on the state a request would
 * leave. Where older state may break the rule of the request's form, only what the
 * request touches is checked. `hasSkill`: one that the
 * agent has itself, or one of the library that exists. Throws 400 `validation_failed`,
 * `agent_mcp_connections_invalid`, 409 `sandbox_required`.
 */
export function checkEffective(state: EffectiveState, fields: AgentFields, rules: AgentRules, hasSkill: boolean): void {
  const { config, workspaceId } = state;
  if (fields.model !== undefined || fields.providerId !== undefined) checkPair(config, rules);
  const touchesThinking =
    fields.thinkingLevel !== undefined || fields.model !== undefined || fields.providerId !== undefined;
  if (touchesThinking && config.thinkingLevel !== null && (config.providerId === null || config.model === null))
    throw invalid("/thinkingLevel", "needs a provider and a model");
  if (config.tools.includes("workspace") && workspaceId === null) {
    throw new ApiError("sandbox_required", {
      details: { issues: [{ path: "/tools", message: "names a group that needs a workspace" }] },
    });
  }
  if (new Set(config.mcpConnectionIds).size < config.mcpConnectionIds.length) {
    throw new ApiError("agent_mcp_connections_invalid", {
      details: { issues: [{ path: "/mcpConnectionIds", message: "must not name a connection twice" }] },
    });
  }
  const issues = [...clientToolIssues(config.clientTools), ...policyIssues(config, hasSkill)];
  if (issues.length > 0) throw invalidAll(issues);
}

function checkPair({ providerId, model }: AgentConfig, { modelAlone }: AgentRules): void {
  if (providerId !== null && model === null) throw invalid("/model", "is needed with a provider");
  if (providerId === null && model !== null && !modelAlone) throw invalid("/providerId", "is needed with a model");
}
