import { Type } from "@sinclair/typebox";
import { inOneTrip } from "../kernel/database/transaction.ts";
import { Closed } from "../kernel/http/request-fields.ts";
import { boundItems, cutNote } from "../tools/bounded.ts";
import { builtinTool } from "../tools/builtin.ts";
import type { ToolScope, TurnTool } from "../tools/tool.ts";
import { WriteAllowance } from "./allowance.ts";
import { bashTool } from "./bash.ts";
import { editTool } from "./edit.ts";
import { withFileList } from "./file-list.ts";
import { writeWorkspaceFiles } from "./files.ts";
import { globPaths } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { fromMount, readToolFilePath, readToolPath } from "./paths.ts";
import { type ReadVirtual, readTool } from "./read.ts";
import { runtimeOf } from "./runtimes.ts";
import type { WorkspaceScope } from "./scope.ts";
import { lockWorkspace } from "./store.ts";

/**
 * Returns the tools of the group `workspace` (docs/decisions/tools.md); none when
 * the agent has no workspace. `readVirtual` returns the text at a virtual path, so
 * that `read` reads skills too.
 */
export function workspaceTools(scope: ToolScope, readVirtual?: ReadVirtual): TurnTool[] {
  if (scope.workspaceId === null) return [];
  const working: WorkspaceScope = { ...scope, workspaceId: scope.workspaceId, allowance: new WriteAllowance() };
  return [
    readTool(working, readVirtual),
    writeTool(working),
    editTool(working),
    listTool(working),
    globTool(working),
    grepTool(working),
    bashTool(working),
  ];
}

const path = Type.String({ minLength: 1, description: "The file's path, from the workspace's root." });

function writeTool({ ctx, tenantId, workspaceId, sessionId, write, allowance }: WorkspaceScope): TurnTool {
  return builtinTool({
    name: "write",
    description: "Create or replace a text file of the workspace.",
    input: Closed({ path, content: Type.String({ description: "The whole text of the file." }) }),
    readOnly: false,
    execute: async (input) => {
      const file = { path: readToolFilePath(input.path, runtimeOf(ctx.config)), content: Buffer.from(input.content) };
      allowance.take(file.content.byteLength);
      await write((inner) =>
        inOneTrip([
          lockWorkspace(inner, tenantId, workspaceId),
          writeWorkspaceFiles(inner, workspaceId, sessionId, [file]),
        ]),
      );
      return { path: file.path, sizeBytes: file.content.byteLength };
    },
  });
}

function listTool(scope: WorkspaceScope): TurnTool {
  return builtinTool({
    name: "list",
    description: "List the workspace's files, or those below one folder, with their sizes.",
    input: Closed({ path: Type.Optional(Type.String({ description: "The folder; left out: the root." })) }),
    readOnly: true,
    execute: async (input, signal) => {
      const folder = readToolPath(input.path ?? "/", runtimeOf(scope.ctx.config));
      const { items, cut } = await withFileList(scope, { under: folder, signal }, boundItems);
      return { files: items, ...(cut ? { note: cutNote("name a folder to see the rest") } : {}) };
    },
  });
}

function globTool(scope: WorkspaceScope): TurnTool {
  return builtinTool({
    name: "glob",
    description: "Find files by a pattern of their path: * and ? within a folder, ** across folders, {a,b}, [a-z].",
    input: Closed({ pattern: Type.String({ minLength: 1, description: "For example **/*.md." }) }),
    readOnly: true,
    execute: async ({ pattern }, signal) => {
      const found = await withFileList(scope, { under: "", signal }, (files) =>
        globPaths(
          fromMount(pattern, runtimeOf(scope.ctx.config)),
          files.map(({ path }) => path),
          signal,
        ),
      );
      const { items, cut } = boundItems(found);
      return { paths: items, ...(cut ? { note: cutNote("use a narrower pattern to see the rest") } : {}) };
    },
  });
}
