import type { ModelMessage, ToolExecutionOptions } from "ai";
import type { Ctx } from "../../src/kernel/context.ts";
import { mcpTools } from "../../src/mcp-connections/tools.ts";
import type { TurnTool } from "../../src/tools/tool.ts";

/** Returns the tools of a turn of an agent with these connections. */
export async function toolsOfTurn(ctx: Ctx, tenantId: string, ids: readonly string[], turnId = "turn_1") {
  const scope = { ctx, tenantId, agentId: "ag_1", sessionId: "ss_1", turnId, userId: "u", metadata: {} };
  const attached = ids.map((mcpConnectionId) => ({ mcpConnectionId, forwardUserId: false, forwardedMetadataKeys: [] }));
  return mcpTools({ ...scope, attempt: 1, workspaceId: null } as never, attached);
}

/** What came of a call: what the model is told, and whether as a failure. */
export interface Told {
  readonly text: string;
  readonly failed: boolean;
  readonly output: unknown;
}

/** Calls a tool of a turn as the model does. */
export async function callTool(
  tools: readonly TurnTool[],
  name: string,
  { input = {}, toolCallId = "call-1", messages = [] }: CallOptions = {},
): Promise<Told> {
  const found = tools.find((tool) => tool.name === name);
  if (found?.tool.execute === undefined) throw new Error(`no tool ${name} among ${tools.map((tool) => tool.name)}`);
  const options = { toolCallId, messages } as unknown as ToolExecutionOptions<never>;
  try {
    const output = (await found.tool.execute(input, options)) as unknown;
    return { text: String((output as { text?: unknown }).text ?? output), failed: false, output };
  } catch (error) {
    return { text: (error as Error).message, failed: true, output: null };
  }
}

interface CallOptions {
  readonly input?: Record<string, unknown>;
  readonly toolCallId?: string;
  /** What the model was sent before it made the call. */
  readonly messages?: readonly ModelMessage[];
}
