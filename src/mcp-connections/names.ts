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
 * outside `[A-Za-z0-9_-]` as `_`, cut at 64 (docs/decisions.md, "MCP"). Where two
 * tools would have one name, the tool of the oldest connection keeps it, and the
 * others end in a digest of their connection and name, whatever their order.
 */
export function toolNames<T extends NamedTool>(tools: readonly T[]): Map<T, string> {
  const taken = new Set<string>();
  const names = new Map<T, string>();
  for (const tool of [...tools].sort(byAge)) {
    const plain = plainName(tool);
    const name = taken.has(plain) ? distinctName(plain, tool) : plain;
    taken.add(name);
    names.set(tool, name);
  }
  return names;
}

function plainName({ connectionName, serverTool }: NamedTool): string {
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
