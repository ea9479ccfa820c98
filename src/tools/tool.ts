import type { Tool } from "ai";
import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import type { ToolProgress } from "../messages/tool-progress.ts";

/** The turn in which a tool is called. */
export interface ToolScope {
  readonly ctx: Ctx;
  readonly tenantId: string;
  readonly agentId: string;
  /** Null for a stateless generation. */
  readonly sessionId: string | null;
  readonly turnId: string;
  /** Which claim of the turn it is. */
  readonly attempt: number;
  readonly userId: string;
  /** The session's metadata. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The agent's workspace, when it has one. */
  readonly workspaceId: string | null;
  readonly write: ToolWrite;
}

/** Runs a transaction in which a tool writes, and returns what `work` returns. Throws, and writes nothing, when the turn belongs to another worker by now. */
export type ToolWrite = <T>(work: (inner: Tx) => Promise<T>) => Promise<T>;

/** What is known of the agent when the tools of a turn are chosen. */
export interface EquippedAgent extends ToolScope {
  /** Whether it has its own skills, and whether it has any memories; what it has none of is not queried. */
  readonly hasSkills: boolean;
  readonly hasMemories: boolean;
}

/** Where a tool comes from: policies name built-in and client tools by their name, MCP tools by server name and connection. */
export type ToolSource =
  | { readonly kind: "builtin" }
  | { readonly kind: "client" }
  | { readonly kind: "mcp"; readonly mcpConnectionId: string; readonly serverTool: string };

/** A tool as one turn offers it to the model. */
export interface TurnTool {
  /** The name the model sees. */
  readonly name: string;
  readonly tool: Tool;
  readonly source: ToolSource;
  /** Known to change nothing: policy `auto` runs it without asking. */
  readonly readOnly: boolean;
}

/** What a call of a tool is given beside its input, as `context` of the AI SDK's options. */
export interface CallContext {
  /** Shows readers how far the call has come. */
  readonly onProgress: (progress: ToolProgress) => void;
}
