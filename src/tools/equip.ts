import type { AgentConfig } from "../agents/schema.ts";
import type { ToolScope, TurnTool } from "./tool.ts";

/** What a turn's model is given beside the transcript. */
export interface Equipment {
  /** The system text: the agent's instructions, and what its memories and skills add. */
  readonly instructions: string;
  readonly tools: readonly TurnTool[];
}

/** Gathers the tools and the system text of one turn, as the agent's configuration names them. */
export async function equip(_scope: ToolScope, config: AgentConfig): Promise<Equipment> {
  return { instructions: config.instructions, tools: [] };
}
