import { listAttachments } from "../../agents/attachments.ts";
import type { ClientTool } from "../../agents/client-tools.ts";
import type { AgentConfig } from "../../agents/schema.ts";
import { mcpTools } from "../../mcp-connections/tools.ts";
import { injectedMemories } from "../../memories/inject.ts";
import { memoryTools } from "../../memories/tools.ts";
import { isBlank } from "../../messages/blank.ts";
import { noSkills, skillsForTurn } from "../../skills/turn.ts";
import { clientTool } from "../../tools/client-tool.ts";
import { todoTools } from "../../tools/todos.ts";
import type { EquippedAgent, ToolScope, TurnTool } from "../../tools/tool.ts";
import { workspaceTools } from "../../workspaces/tools.ts";
import type { CallerOptions } from "../state/caller-options.ts";

/** What a turn's model is given beside the transcript. */
export interface Equipment {
  /** The system text: the agent's instructions, and what its skills and memories add. */
  readonly instructions: string;
  /** What the system text begins with in every turn: all of it but the memories. */
  readonly fixed: string;
  readonly tools: readonly TurnTool[];
}

/** Who asked for a turn, and what they add to the agent. */
export interface TurnCaller {
  /** Whether somebody follows the turn who can run the agent's client tools. */
  readonly hasCaller: boolean;
  readonly options: CallerOptions | null;
}

/** Returns the tools and the system text of one turn, as the agent's configuration and the request name them. */
export async function equip(
  scope: EquippedAgent,
  config: AgentConfig,
  { hasCaller, options }: TurnCaller,
): Promise<Equipment> {
  const asked = options?.tools ?? [];
  const isReplaced = ({ name }: ClientTool) => asked.some((tool) => tool.name === name);
  const clientTools = [...(hasCaller ? config.clientTools.filter((tool) => !isReplaced(tool)) : []), ...asked];
  const [memories, skills, remote] = await Promise.all([
    scope.hasMemories ? memoriesOf(scope, config) : "",
    scope.hasSkills || config.skills.length > 0 ? skillsForTurn(scope, config) : noSkills,
    remoteTools(scope, config, [...config.clientTools, ...asked]),
  ]);
  const tools = [
    ...(config.tools.includes("workspace") ? workspaceTools(scope, skills.readVirtual) : []),
    ...(config.tools.includes("write_todos") ? todoTools(scope) : []),
    ...skills.tools,
    ...(config.tools.includes("memory") ? memoryTools(scope) : []),
    ...clientTools.map(clientTool),
    ...remote,
  ];
  // What may change from turn to turn comes last: vendors cache a prompt by how it begins.
  const fixed = joined(config.instructions, options?.instructions ?? "", skills.instructions);
  return { instructions: joined(fixed, memories), fixed, tools };
}

/** Returns texts as one, without blank ones, which a vendor refuses. */
function joined(...texts: readonly string[]): string {
  return texts.filter((text) => !isBlank(text)).join("\n\n");
}

async function memoriesOf({ ctx, tenantId, agentId, userId }: ToolScope, config: AgentConfig): Promise<string> {
  return config.memoryInjectionEnabled ? injectedMemories(ctx.sql, tenantId, agentId, userId) : "";
}

/** Tools of the attached MCP servers. When a server is down, only its own tools are missing. */
async function remoteTools(
  scope: ToolScope,
  config: AgentConfig,
  clientTools: readonly ClientTool[],
): Promise<TurnTool[]> {
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
  const taken = clientTools.map(({ name }) => name);
  const { tools, failures } = await mcpTools(scope, attachments, taken);
  if (failures.length > 0) ctx.log.warn({ turnId, failures }, "a turn goes without the tools of some MCP servers");
  return tools;
}
