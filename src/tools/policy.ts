import type { IdOf } from "../kernel/ids.ts";
import type { TurnTool } from "./tool.ts";

/** What a policy decides for all calls; an override may also `deny` (docs/decisions.md, "Approval policy"). */
export const approvalModes = ["full", "auto", "manual"] as const;

export interface ApprovalOverride {
  readonly tool: string;
  /** Null for a built-in tool. */
  readonly mcpConnectionId: IdOf<"mcpConnection"> | null;
  readonly mode: (typeof approvalModes)[number] | "deny";
}

export interface ApprovalPolicy {
  readonly default: (typeof approvalModes)[number];
  readonly overrides: readonly ApprovalOverride[];
}

/** What a policy says of one call. */
export type Decision = "run" | "ask" | "deny";

/**
 * What a policy says of a call of this tool (docs/decisions.md, "Approval
 * policy"): an override decides, else the default. `full` runs, `auto` runs what
 * is known to be read-only, `manual` asks for every call.
 */
export function decideCall(policy: ApprovalPolicy, tool: TurnTool): Decision {
  const { source } = tool;
  const override = policy.overrides.find((rule) =>
    source.kind === "mcp"
      ? rule.mcpConnectionId === source.mcpConnectionId && rule.tool === source.serverTool
      : rule.mcpConnectionId === null && rule.tool === tool.name,
  );
  const mode = override?.mode ?? policy.default;
  if (mode === "deny") return "deny";
  if (mode === "full" || (mode === "auto" && tool.readOnly)) return "run";
  return "ask";
}
