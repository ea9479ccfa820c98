import type { AgentConfig } from "../agents/schema.ts";
import { injectedMemories } from "../memories/inject.ts";
import { memoryTools } from "../memories/tools.ts";
import type { ToolScope, TurnTool } from "./tool.ts";

/** What a turn's model is given beside the transcript. */
export interface Equipment {
  /** The system text: the agent's instructions, and what its memories and skills add. */
  readonly instructions: string;
  readonly tools: readonly TurnTool[];
}

/** Gathers the tools and the system text of one turn, as the agent's configuration names them. */
export async function equip(scope: ToolScope, config: AgentConfig): Promise<Equipment> {
  const { sql } = scope.ctx;
  const memories = config.memoryInjectionEnabled
    ? await injectedMemories(sql, scope.tenantId, scope.agentId, scope.userId)
    : "";
  const tools = config.tools.includes("memory") ? memoryTools(scope) : [];
  const texts = [config.instructions, memories];
  return { instructions: texts.filter((text) => text !== "").join("\n\n"), tools };
}
