import { Type } from "@sinclair/typebox";
import type { IdOf } from "../kernel/ids.ts";

/** What a sandbox id begins with, in place of the `ws_` of its workspace's id. */
const sandboxPrefix = "sb_";

/** The id of a sandbox: form A's name of a workspace, with another prefix. */
export const SandboxId = Type.String({ pattern: "^sb_[0-9a-z]{24}$", description: "sb_…" });

/** Returns a workspace's id as form A prints it: the same 24 characters after `sb_`. */
export function sandboxIdOf(workspaceId: string): string {
  return `${sandboxPrefix}${workspaceId.slice("ws_".length)}`;
}

/** Returns the workspace id of a sandbox id, which must be `sb_` and 24 characters. */
export function workspaceIdOf(sandboxId: string): IdOf<"workspace"> {
  return `ws_${sandboxId.slice(sandboxPrefix.length)}`;
}
