import { createHash } from "node:crypto";

/** The model vendors accept names of at most this many characters. */
const nameLengthMax = 64;
/** Characters of the digest that distinguishes two tools whose names would be the same. */
const digestLength = 8;

/** A tool of one of an agent's MCP connections. */
export interface NamedTool {
  readonly mcpConnectionId: string;
  readonly connectionName: string;
  readonly serverTool: string;
}

/**
 * Returns the names that the model sees: `{connection name}__{tool}`, characters
 * outside `[A-Za-z0-9_-]` as `_`, cut at 64 (docs/decisions/mcp.md). Where two
 * tools would have one name, the tool of the oldest connection keeps it, and the
 * others end in a digest of their connection and name, whatever their order. So does a
 * tool that would have one of the names of `others`, which are taken already.
 */
export function toolNames<T extends NamedTool>(tools: readonly T[], others: Iterable<string> = []): Map<T, string> {
  const taken = new Set(others);
  const names = new Map<T, string>();
  for (const tool of [...tools].sort(byAge)) {
    const plain = plainToolName(tool);
    const name = taken.has(plain) ? distinctName(plain, tool) : plain;
    taken.add(name);
    names.set(tool, name);
  }
  return names;
}

/** Returns the name of an MCP tool for the model, as long as no other tool has it. */
export function plainToolName({ connectionName, serverTool }: Omit<NamedTool, "mcpConnectionId">): string {
  return `${connectionName}__${serverTool}`.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, nameLengthMax);
}

function distinctName(plain: string, { mcpConnectionId, serverTool }: NamedTool): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([mcpConnectionId, serverTool]))
    .digest("hex");
  return `${plain.slice(0, nameLengthMax - digestLength - 1)}_${digest.slice(0, digestLength)}`;
}

/** Ids begin with their time. */
function byAge(left: NamedTool, right: NamedTool): number {
  const ids = compare(left.mcpConnectionId, right.mcpConnectionId);
  return ids === 0 ? compare(left.serverTool, right.serverTool) : ids;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns whether a name may be that of an MCP tool for the model: those have two underscores, or are cut at the end. */
export function mayBeOfMcp(name: string): boolean {
  return name.includes("__") || name.length >= nameLengthMax;
}
