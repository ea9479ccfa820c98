import type { Issue } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { ApprovalOverride, ApprovalPolicy } from "../tools/policy.ts";
import type { AgentConfig } from "./schema.ts";
import { type ToolGroup, toolsOfGroup, toolsOfSkills } from "./tool-groups.ts";

/** The two policies of an agent by their field. */
const policyFields = ["approvalInChat", "approvalInTasks"] as const;

type Policies = Pick<AgentConfig, "tools" | "clientTools" | "mcpConnectionIds" | (typeof policyFields)[number]>;

/** Names of the built-in tools that an agent with these groups has. */
export function builtInTools(groups: readonly ToolGroup[], hasSkill: boolean): Set<string> {
  return new Set([...groups.flatMap((group) => toolsOfGroup[group]), ...(hasSkill ? toolsOfSkills : [])]);
}

/**
 * What is wrong with an agent's approval policies: a rule for a built-in or client tool that the agent does not have, for a connection that
 * is not attached, or two rules for one tool. Whether an MCP server has a tool
 * is checked elsewhere (`confirmations.ts`). Empty when every rule is valid.
 */
export function policyIssues(config: Policies, hasSkill: boolean): Issue[] {
  const own = builtInTools(config.tools, hasSkill);
  for (const { name } of config.clientTools) own.add(name);
  const attached = new Set(config.mcpConnectionIds);
  return policyFields.flatMap((field) => {
    const seen = new Set<string>();
    return config[field].overrides.flatMap((override, index): Issue[] => {
      const path = `/${field}/overrides/${index}`;
      const key = overrideKey(override);
      if (seen.has(key)) return [{ path, message: "names the same tool as an earlier override" }];
      seen.add(key);
      if (override.mcpConnectionId === null) {
        if (own.has(override.tool)) return [];
        return [{ path: `${path}/tool`, message: "is not a built-in or client tool that this agent has" }];
      }
      if (attached.has(override.mcpConnectionId)) return [];
      return [{ path: `${path}/mcpConnectionId`, message: "is not attached to this agent" }];
    });
  });
}

/** A rule on an MCP server's tool, with the pointer to it. */
export interface McpRule {
  readonly path: string;
  readonly mcpConnectionId: string;
  readonly tool: string;
}

/** The rules on MCP tools that the agent had none for before: these tools must be found on the server. */
export function newMcpRules(before: Policies | null, after: Policies): McpRule[] {
  const known = new Set(
    before === null ? [] : policyFields.flatMap((field) => before[field].overrides.map(overrideKey)),
  );
  return policyFields.flatMap((field) =>
    after[field].overrides.flatMap((override, index) => {
      const { mcpConnectionId, tool } = override;
      if (mcpConnectionId === null || known.has(overrideKey(override))) return [];
      return [{ path: `/${field}/overrides/${index}/tool`, mcpConnectionId, tool }];
    }),
  );
}

/** A policy as it came in, with what was left out filled in. */
export function completePolicy(policy: {
  default?: ApprovalPolicy["default"];
  overrides?: readonly (Omit<ApprovalOverride, "mcpConnectionId"> & {
    mcpConnectionId?: IdOf<"mcpConnection"> | null;
  })[];
}): ApprovalPolicy {
  const overrides = (policy.overrides ?? []).map(({ tool, mcpConnectionId = null, mode }) => ({
    tool,
    mcpConnectionId,
    mode,
  }));
  return { default: policy.default ?? "full", overrides };
}

function overrideKey({ mcpConnectionId, tool }: ApprovalOverride): string {
  return JSON.stringify([mcpConnectionId, tool]);
}
