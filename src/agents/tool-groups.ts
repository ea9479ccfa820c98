/** The built-in tools of an agent come in groups (docs/decisions/tools.md). */
export const toolGroups = ["workspace", "write_todos", "memory"] as const;
export type ToolGroup = (typeof toolGroups)[number];

/** The built-in tools of each group. */
export const toolsOfGroup: Readonly<Record<ToolGroup, readonly string[]>> = {
  workspace: ["read", "write", "edit", "list", "glob", "grep", "bash"],
  write_todos: ["write_todos"],
  memory: ["memory_save", "memory_search", "memory_update", "memory_delete"],
};
/** The tools of an agent that has a skill, whatever its groups. */
export const toolsOfSkills: readonly string[] = ["activate_skill", "read"];
