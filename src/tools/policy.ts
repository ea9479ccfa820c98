import type { IdOf } from "../kernel/ids.ts";
import type { TurnTool } from "./tool.ts";

/** The modes of a policy; an override may also be `deny` (docs/decisions/approval-policy.md). */
export const approvalModes = ["full", "auto", "manual"] as const;

export interface ApprovalOverride {
  readonly tool: string;
  /** Null for a built-in or client tool. */
  readonly mcpConnectionId: IdOf<"mcpConnection"> | null;
  readonly mode: (typeof approvalModes)[number] | "deny";
}

export interface ApprovalPolicy {
  readonly default: (typeof approvalModes)[number];
  readonly overrides: readonly ApprovalOverride[];
}

/** The decision on one tool call. */
export type Decision = "run" | "ask" | "deny";

/**
 * Returns the policy's decision on a call of this tool (docs/decisions/approval-policy.md): that
 * of the tool's override, else of the default. `full` runs every call,
 * `auto` runs only tools known to be read-only without asking, `manual` asks for every
 * call.
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
