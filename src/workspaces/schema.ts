import { Type } from "@sinclair/typebox";
import { Characters, Closed, Metadata, Name, pageQuery, UserId } from "../schema.ts";

/** A file may weigh this much (design section 3, "Workspaces and sandboxes"). */
export const fileBytesMax = 10 * 1024 * 1024;
/** All files of a workspace may weigh this much together. */
export const workspaceBytesMax = 100 * 1024 * 1024;
/** A workspace holds at most this many files, and beside them at most this many empty folders. */
export const workspaceFilesMax = 10_000;
/** A path weighs at most this much, so that it fits into the index it is found by. */
export const pathBytesMax = 1024;
/** A workspace with more files than this is deleted by a job; the request answers 202 at once. */
export const filesDeletedAtOnceMax = 200;
/** So is one whose files weigh more than this. */
export const bytesDeletedAtOnceMax = 16 * 1024 * 1024;

/** A sandbox's id, as form A's paths name it. */
export const SandboxId = Type.String({ pattern: "^sb_[0-9a-z]{24}$", description: "sb_…" });

export const WorkspaceCreate = Closed({
  name: Type.Optional(Name),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
});

export const WorkspaceUpdate = Type.Partial(Closed({ name: Name, metadata: Metadata }), {
  minProperties: 1,
  errorMessage: "must be an object with at least one of name, metadata",
});

export const WorkspaceList = Closed({ ...pageQuery, userId: Type.Optional(UserId) });

const Path = Characters({ max: pathBytesMax + 1 });
export const FileQuery = Closed({ path: Path });
/** Without a path, or with the root's, the files are listed. */
export const FileOrListQuery = Closed({ path: Type.Optional(Path) });

/** A workspace as it is shown (design section 3, "Workspaces and sandboxes"). */
export interface Workspace {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: "ready" | "deleting";
  readonly createdAt: string;
  readonly updatedAt: string;
}
