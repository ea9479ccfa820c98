import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Change, Characters, Closed, Metadata, Name, pageQuery, UserId } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";
import { workspacePathBytesMax } from "./limits.ts";

export const WorkspaceCreate = Component("WorkspaceCreate", {
  name: Type.Optional(example(Name, "Reports")),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
});

export const WorkspaceUpdate = Change("WorkspaceUpdate", { name: example(Name, "Reports"), metadata: Metadata });

export const WorkspaceList = Closed({ ...pageQuery, userId: Type.Optional(UserId) });

const Path = Characters({ max: workspacePathBytesMax + 1 });
export const FileQuery = Closed({ path: Path });
/** Without a path, or with the root's, the files are listed. */
export const FileOrListQuery = Closed({ path: Type.Optional(Path) });

/** A workspace in a response. */
export interface Workspace {
  readonly id: IdOf<"workspace">;
  readonly tenantId: string;
  readonly name: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: "ready" | "deleting";
  readonly createdAt: string;
  readonly updatedAt: string;
}
