import { Type } from "@sinclair/typebox";
import { Closed } from "../kernel/http/request-fields.ts";
import { cutNote } from "../tools/bounded.ts";
import { builtinTool } from "../tools/builtin.ts";
import { ToolError } from "../tools/error.ts";
import type { TurnTool } from "../tools/tool.ts";
import { runInWorkspace } from "./commands/run.ts";
import { shownOutcome } from "./commands/shown.ts";
import { commandMs } from "./limits.ts";
import { RuntimeUnavailableError } from "./runtime.ts";
import { runtimeOf } from "./runtimes.ts";
import type { WorkspaceScope } from "./scope.ts";
import { neverAborted } from "./shell/host.ts";

const simulatedDescription =
  "Run a command in a simulated bash shell over the workspace's files. The root / is the workspace. " +
  "There is no network and no other program than the usual text tools; a command is cut after 30 s; " +
  "variables and symbolic links do not outlive the command, files do.";
const realDescription =
  "Run a command in bash, with the programs that are installed, such as python3. The workspace is the folder /workspace, in which it starts. " +
  "There is no network; a command is ended after 30 s, and then nothing that it wrote is kept. " +
  "Of what it leaves only files and folders below /workspace are kept, no links and no programs that still run.";

/**
 * Returns the tool `bash`: a shell with no network over the workspace's files, simulated or with real programs
 * (docs/sandboxes.md).
 */
export function bashTool(scope: WorkspaceScope): TurnTool {
  const { ctx, tenantId, workspaceId, sessionId, write, allowance } = scope;
  const runtime = runtimeOf(ctx.config);
  return builtinTool({
    name: "bash",
    description: runtime.isReal ? realDescription : simulatedDescription,
    input: Closed({ command: Type.String({ minLength: 1 }) }),
    readOnly: false,
    execute: async ({ command }, signal = neverAborted) => {
      const running = { sql: ctx.sql, runtime, write, tenantId, workspaceId, sessionId, allowance };
      const asked = { command, stdin: "", timeoutMs: commandMs };
      const outcome = await runInWorkspace(running, asked, signal).catch((error: unknown) => {
        throw error instanceof RuntimeUnavailableError ? new ToolError(error.message) : error;
      });
      const inOutput = runtime.isReal ? outcome.notes : [];
      const { exitCode, stdout, stderr, truncated } = shownOutcome(outcome, inOutput);
      const cut = truncated ? [cutNote("only the beginning of the output is shown")] : [];
      const notes = [...(runtime.isReal ? [] : outcome.notes), ...cut];
      return { exitCode, stdout, stderr, ...(notes.length === 0 ? {} : { note: notes.join(" ") }) };
    },
  });
}
