import { Type } from "@sinclair/typebox";
import type { Tx } from "../kernel/database/client.ts";
import { inOneTrip } from "../kernel/database/transaction.ts";
import { Closed } from "../kernel/http/request-fields.ts";
import { builtinTool } from "../tools/builtin.ts";
import { ToolError } from "../tools/error.ts";
import type { TurnTool } from "../tools/tool.ts";
import { readWorkspaceFile, writeWorkspaceFiles } from "./files.ts";
import { readToolFilePath } from "./paths.ts";
import { textOf } from "./read.ts";
import { runtimeOf } from "./runtimes.ts";
import type { WorkspaceScope } from "./scope.ts";
import { lockWorkspace } from "./store.ts";

/**
 * Returns the tool `edit`: it replaces one passage of a file, under the workspace's lock,
 * so that no concurrent edit is lost.
 */
export function editTool({ ctx, tenantId, workspaceId, sessionId, write, allowance }: WorkspaceScope): TurnTool {
  return builtinTool({
    name: "edit",
    description: "Replace one passage of a text file. The old text must occur exactly once.",
    input: Closed({
      path: Type.String({ minLength: 1, description: "The file's path, from the workspace's root." }),
      oldText: Type.String({
        minLength: 1,
        description: "The passage as it stands in the file, character by character.",
      }),
      newText: Type.String({ description: "What takes its place." }),
    }),
    readOnly: false,
    execute: async (input) => {
      const path = readToolFilePath(input.path, runtimeOf(ctx.config));
      const edit = async (inner: Tx) => {
        const [, before] = await inOneTrip([
          lockWorkspace(inner, tenantId, workspaceId),
          readWorkspaceFile(inner, workspaceId, path),
        ]);
        if (before === null) throw new ToolError(`There is no file ${path}.`);
        const text = textOf(before);
        if (text === null) throw new ToolError(`${path} is a binary file.`);
        const content = Buffer.from(replaceOnce(text, input.oldText, input.newText));
        allowance.take(content.byteLength);
        await writeWorkspaceFiles(inner, workspaceId, sessionId, [{ path, content }]);
        return { path, sizeBytes: content.byteLength };
      };
      return write(edit);
    },
  });
}

function replaceOnce(text: string, oldText: string, newText: string): string {
  const at = text.indexOf(oldText);
  if (at < 0) throw new ToolError("The old text does not occur in the file; nothing was changed.");
  if (text.indexOf(oldText, at + 1) >= 0)
    throw new ToolError("The old text occurs more than once in the file; give more of what stands around it.");
  return `${text.slice(0, at)}${newText}${text.slice(at + oldText.length)}`;
}
