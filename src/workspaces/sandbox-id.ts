import { Type } from "@sinclair/typebox";

/** The id of a sandbox: form A's name of a workspace, with a prefix of its own. */
export const SandboxId = Type.String({ pattern: "^sb_[0-9a-z]{24}$", description: "sb_…" });
