import type { Sql } from "../../kernel/database/client.ts";
import type { ToolWrite } from "../../tools/tool.ts";
import type { WriteAllowance } from "../allowance.ts";
import { rerunsMax } from "../limits.ts";
import { CommandCutError, type Runtime } from "../runtime.ts";
import { type CommandOutcome, keepChanges } from "./keep.ts";
import { withLease } from "./lease.ts";
import { Queues } from "./queues.ts";
import { readContents, readSnapshot } from "./snapshot.ts";

/** The tenant, workspace and session that a command runs for, and what it runs in. */
export interface CommandScope {
  readonly sql: Sql;
  readonly runtime: Runtime;
  readonly write: ToolWrite;
  readonly tenantId: string;
  readonly workspaceId: string;
  /** Whose artifacts the written files are. */
  readonly sessionId: string | null;
  readonly allowance: WriteAllowance;
}

/** A command, as its caller said it. */
export interface AskedCommand {
  readonly command: string;
  readonly stdin: string;
  readonly timeoutMs: number;
}

/**
 * Simulated commands of one workspace that are run again, because another writer changed their
 * files, run one after the other.
 */
const reruns = new Queues();

/**
 * Runs a command over a workspace's files, stores what it wrote, all or nothing,
 * and returns its outcome. A command that wrote (and, simulated, read) a file which another writer
 * changed in the meantime is run again on the current files: files are its only effects,
 * so running it again loses nothing. Real programs of one workspace run one after the other, over all
 * processes. Throws 404 `workspace_not_found`, 409 `workspace_delete_conflict`, `RuntimeUnavailableError`, the signal's reason.
 */
export async function runInWorkspace(
  scope: CommandScope,
  command: AskedCommand,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const { sql, tenantId, workspaceId, runtime } = scope;
  if (!runtime.isReal) {
    const first = await attempt(scope, command, null, signal);
    return first !== "overtaken" ? first : reruns.run(workspaceId, () => repeat(scope, command, null, signal));
  }
  return withLease({ sql, tenantId, workspaceId }, signal, (lease) => repeat(scope, command, lease, signal));
}

async function repeat(
  scope: CommandScope,
  command: AskedCommand,
  lease: string | null,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const startedAtMs = Date.now();
  for (let rerun = 0; rerun < rerunsMax && Date.now() - startedAtMs < 2 * command.timeoutMs; rerun += 1) {
    const outcome = await attempt(scope, command, lease, signal);
    if (outcome !== "overtaken") return outcome;
  }
  return nothingKept("the workspace's files kept changing under it", 1);
}

async function attempt(
  scope: CommandScope,
  command: AskedCommand,
  lease: string | null,
  signal: AbortSignal,
): Promise<CommandOutcome | "overtaken"> {
  const { sql, tenantId, workspaceId, runtime } = scope;
  const read = new Set<string>();
  const sizes = new Map<string, number>();
  let isChanging = false;
  const fetch = async (paths: readonly string[]) => {
    // Real programs are given all files before they begin; what they read of them is not seen.
    if (!runtime.isReal) for (const path of paths) read.add(path);
    const contents = await readContents(sql, workspaceId, paths, sizes);
    if (contents.includes(null)) isChanging = true;
    return contents;
  };
  try {
    const { before, result } = await runtime.inPlace(tenantId, signal, async () => {
      const before = await readSnapshot(sql, tenantId, workspaceId);
      for (const { path, size } of before.files) sizes.set(path, size);
      const request = { tenantId, workspaceId, ...command, ...before };
      return { before, result: await runtime.run(request, { fetch, signal }) };
    });
    signal.throwIfAborted();
    if (isChanging && runtime.isReal) return "overtaken";
    const { kept, ...ended } = result;
    return await keepChanges({ ...scope, lease }, { before, read }, ended, kept);
  } catch (error) {
    if (error instanceof CommandCutError) return nothingKept(error.message, error.exitCode);
    throw error;
  }
}

function nothingKept(reason: string, exitCode: number): CommandOutcome {
  const notes = [reason, "No file was changed."];
  return { stdout: "", stderr: "", isCut: false, exitCode, durationMs: 0, notes };
}
