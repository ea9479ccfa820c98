import type { ToolScope } from "../tools/tool.ts";

/** The scope of tools that have a workspace to work on. */
export type WorkspaceScope = ToolScope & { readonly workspaceId: string };
