import { listAttachments } from "../../agents/attachments.ts";
import type { AgentConfig } from "../../agents/schema.ts";
import { mcpTools } from "../../mcp-connections/tools.ts";
import { injectedMemories } from "../../memories/inject.ts";
import { memoryTools } from "../../memories/tools.ts";
import { noSkills, skillsForTurn } from "../../skills/turn.ts";
import { clientTool } from "../../tools/client-tool.ts";
import { todoTools } from "../../tools/todos.ts";
import type { EquippedAgent, ToolScope, TurnTool } from "../../tools/tool.ts";
import { workspaceTools } from "../../workspaces/tools.ts";

/** What a turn's model is given beside the transcript. */
export interface Equipment {
  /** The system text: the agent's instructions, and what its memories and skills add. */
  readonly instructions: string;
  readonly tools: readonly TurnTool[];
}

/**
 * Returns the tools and the system text of one turn, as the agent's configuration names them.
 * `hasCaller`: somebody follows the turn who can run client tools.
 */
export async function equip(scope: EquippedAgent, config: AgentConfig, hasCaller: boolean): Promise<Equipment> {
  const [memories, skills, remote] = await Promise.all([
    scope.hasMemories ? memoriesOf(scope, config) : "",
    scope.hasSkills || config.skills.length > 0 ? skillsForTurn(scope, config) : noSkills,
    remoteTools(scope, config),
  ]);
  const tools = [
    ...(config.tools.includes("workspace") ? workspaceTools(scope, skills.readVirtual) : []),
    ...(config.tools.includes("write_todos") ? todoTools(scope) : []),
    ...skills.tools,
    ...(config.tools.includes("memory") ? memoryTools(scope) : []),
    ...(hasCaller ? config.clientTools.map(clientTool) : []),
    ...remote,
  ];
  const texts = [config.instructions, skills.instructions, memories];
  return { instructions: texts.filter((text) => text !== "").join("\n\n"), tools };
}

async function memoriesOf({ ctx, tenantId, agentId, userId }: ToolScope, config: AgentConfig): Promise<string> {
  return config.memoryInjectionEnabled ? injectedMemories(ctx.sql, tenantId, agentId, userId) : "";
}

/** Tools of the attached MCP servers. When a server is down, only its own tools are missing. */
async function remoteTools(scope: ToolScope, config: AgentConfig): Promise<TurnTool[]> {
  if (config.mcpConnectionIds.length === 0) return [];
  const { ctx, tenantId, agentId, turnId } = scope;
  const settings = new Map(
    (await listAttachments(ctx.sql, tenantId, agentId)).map((attachment) => [attachment.mcpConnectionId, attachment]),
  );
  // A pinned version may name a connection that the current one does not: that one gets no data of the session.
  const attachments = config.mcpConnectionIds.map(
    (mcpConnectionId) =>
      settings.get(mcpConnectionId) ?? { mcpConnectionId, forwardUserId: false, forwardedMetadataKeys: [] },
  );
  const taken = config.clientTools.map(({ name }) => name);
  const { tools, failures } = await mcpTools(scope, attachments, taken);
  if (failures.length > 0) ctx.log.warn({ turnId, failures }, "a turn goes without the tools of some MCP servers");
  return tools;
}
