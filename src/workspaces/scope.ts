import type { ToolScope } from "../tools/tool.ts";
import type { WriteAllowance } from "./allowance.ts";

/** The scope of tools that have a workspace to work on. */
export type WorkspaceScope = ToolScope & {
  readonly workspaceId: string;
  /** Shared by all tools of the turn. */
  readonly allowance: WriteAllowance;
};
