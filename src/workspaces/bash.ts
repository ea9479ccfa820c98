import { Type } from "@sinclair/typebox";
import { Closed } from "../kernel/http/request-fields.ts";
import { cleanText } from "../messages/text.ts";
import { boundText, cutNote } from "../tools/bounded.ts";
import { builtinTool } from "../tools/builtin.ts";
import type { TurnTool } from "../tools/tool.ts";
import type { WorkspaceScope } from "./scope.ts";
import { neverAborted } from "./shell/host.ts";
import { runShell } from "./shell/run.ts";

/** The share of a result that the error output may take. */
const stderrBytesMax = 48 * 1024;
const stdoutBytesMax = 192 * 1024;

/**
 * Returns the tool `bash`: a simulated shell with no network, over the workspace's files
 * (docs/decisions/workspaces.md).
 */
export function bashTool({
  ctx: { sql },
  tenantId,
  workspaceId,
  sessionId,
  write,
  allowance,
}: WorkspaceScope): TurnTool {
  return builtinTool({
    name: "bash",
    description:
      "Run a command in a simulated bash shell over the workspace's files. The root / is the workspace. " +
      "There is no network and no other program than the usual text tools; a command is cut after 30 s; " +
      "variables and symbolic links do not outlive the command, files do.",
    input: Closed({ command: Type.String({ minLength: 1 }) }),
    readOnly: false,
    execute: async ({ command }, signal = neverAborted) => {
      const outcome = await runShell({ sql, write, tenantId, workspaceId, sessionId, allowance }, command, signal);
      const stdout = boundText(cleanText(outcome.stdout), stdoutBytesMax);
      const stderr = boundText(cleanText(outcome.stderr), stderrBytesMax);
      const cut = stdout.cut || stderr.cut ? [cutNote("only the beginning of the output is shown")] : [];
      const notes = [...outcome.notes, ...cut];
      return {
        exitCode: outcome.exitCode,
        stdout: stdout.text,
        stderr: stderr.text,
        ...(notes.length === 0 ? {} : { note: notes.join(" ") }),
      };
    },
  });
}
