import { Type } from "@sinclair/typebox";
import { Closed } from "../kernel/http/request-fields.ts";
import { boundItems, cutNote } from "../tools/bounded.ts";
import { builtinTool } from "../tools/builtin.ts";
import { ToolError } from "../tools/error.ts";
import type { TurnTool } from "../tools/tool.ts";
import { readContents } from "./commands/snapshot.ts";
import { listWorkspaceFiles } from "./files.ts";
import { readToolPath } from "./paths.ts";
import { CommandCutError } from "./runtime.ts";
import { runtimeOf } from "./runtimes.ts";
import type { WorkspaceScope } from "./scope.ts";
import { neverAborted, runJob, withJobSlot } from "./shell/host.ts";
import { requireWorkspace } from "./store.ts";

/** The length limit of a pattern; real ones are far shorter. */
const patternCharactersMax = 2_000;

/** Returns the tool `grep`. It searches in a separate process, because a search may take long. */
export function grepTool({ ctx: { sql, config }, tenantId, workspaceId }: WorkspaceScope): TurnTool {
  return builtinTool({
    name: "grep",
    description: "Find the lines of text files that match a regular expression (JavaScript's).",
    input: Closed({
      pattern: Type.String({ minLength: 1, maxLength: patternCharactersMax }),
      path: Type.Optional(Type.String({ description: "A file or folder to search; left out: the whole workspace." })),
    }),
    readOnly: true,
    execute: async ({ pattern, path }, signal = neverAborted) => {
      const under = readToolPath(path ?? "/", runtimeOf(config));
      checkPattern(pattern);
      const sizes = new Map<string, number>();
      const fetch = (paths: readonly string[]) => readContents(sql, workspaceId, paths, sizes);
      const found = await withJobSlot(tenantId, signal, async () => {
        await requireWorkspace(sql, tenantId, workspaceId);
        const files = (await listWorkspaceFiles(sql, workspaceId, under)).map((file) => ({
          path: file.path,
          size: file.sizeBytes,
        }));
        if (files.length === 0) return { matches: [], complete: true };
        for (const file of files) sizes.set(file.path, file.size);
        return runJob({ kind: "search", pattern, files }, { fetch, signal });
      }).catch((error) => {
        throw error instanceof CommandCutError
          ? new ToolError("The search took too long; use a simpler pattern.")
          : error;
      });
      const { items, cut } = boundItems(found.matches);
      const whole = found.complete && !cut;
      return { matches: items, ...(whole ? {} : { note: cutNote(`the first ${items.length} matches are shown`) }) };
    },
  });
}

function checkPattern(pattern: string): void {
  try {
    new RegExp(pattern);
  } catch (error) {
    throw new ToolError(error instanceof Error ? error.message : "The pattern is no regular expression.");
  }
}
