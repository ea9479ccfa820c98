import { Type } from "@sinclair/typebox";
import { Closed } from "../kernel/http/request-fields.ts";
import { boundText, cutNote } from "../tools/bounded.ts";
import { builtinTool } from "../tools/builtin.ts";
import { ToolError } from "../tools/error.ts";
import type { ToolScope, TurnTool } from "../tools/tool.ts";
import { readWorkspaceFile } from "./files.ts";
import { virtualFolder } from "./path-rules.ts";
import { readToolFilePath } from "./paths.ts";
import { runtimeOf } from "./runtimes.ts";
import { requireWorkspace } from "./store.ts";

/** Returns the text at a virtual path (`/.parley/…`), or null when there is none. */
export type ReadVirtual = (path: string) => Promise<string | null>;

/**
 * Returns the tool `read`: it reads a file of the workspace, or a text that `readVirtual`
 * returns. An agent that has skills but no workspace gets it for virtual paths alone.
 */
export function readTool(scope: ToolScope, readVirtual?: ReadVirtual): TurnTool {
  return builtinTool({
    name: "read",
    description: "Read a text file.",
    input: Closed({ path: Type.String({ minLength: 1, description: "The file's path, from the workspace's root." }) }),
    readOnly: true,
    execute: async (input) => {
      const virtualPath = virtualPathOf(input.path);
      if (virtualPath === null)
        return show(input.path, await readOwn(scope, readToolFilePath(input.path, runtimeOf(scope.ctx.config))));
      const text = await readVirtual?.(virtualPath);
      if (text === undefined || text === null) throw missing(input.path);
      return showText(input.path, text, Buffer.byteLength(text));
    },
  });
}

/** A path below the virtual folder, with a leading slash; null for all others. */
function virtualPathOf(path: string): string | null {
  const absolute = path.startsWith("/") ? path : `/${path.replace(/^\.\//, "")}`;
  return absolute.startsWith(`/${virtualFolder}/`) ? absolute : null;
}

async function readOwn({ ctx, tenantId, workspaceId }: ToolScope, path: string): Promise<Uint8Array> {
  if (workspaceId === null) throw missing(path);
  await requireWorkspace(ctx.sql, tenantId, workspaceId);
  const content = await readWorkspaceFile(ctx.sql, workspaceId, path);
  if (content === null) throw missing(path);
  return content;
}

function missing(path: string): ToolError {
  return new ToolError(`There is no file ${path}.`);
}

function show(path: string, content: Uint8Array) {
  const text = textOf(content);
  if (text !== null) return showText(path, text, content.byteLength);
  return { path, sizeBytes: content.byteLength, note: "This is a binary file; its content is not shown as text." };
}

function showText(path: string, whole: string, sizeBytes: number) {
  const { text, cut } = boundText(whole);
  return { path, content: text, sizeBytes, ...(cut ? { note: cutNote("only the file's beginning is shown") } : {}) };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns a file's text; null when it is binary: not UTF-8, or with NUL in it. */
export function textOf(content: Uint8Array): string | null {
  if (content.includes(0)) return null;
  try {
    return utf8.decode(content);
  } catch {
    return null;
  }
}
