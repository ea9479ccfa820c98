import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Change, Characters, Closed, Metadata, Name, pageQuery, UserId } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";
import { commandSecondsMax, commandStdinCharactersMax, workspacePathBytesMax } from "./limits.ts";

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

/** The length limit of a command; a program gets it as one argument, and Linux takes 128 KiB of that. */
const commandCharactersMax = 100_000;

export const CommandCreate = Component("CommandCreate", {
  command: example(Characters({ min: 1, max: commandCharactersMax, pattern: "^[^\\0]*$" }), "ls -l"),
  timeoutSeconds: Type.Optional(example(Type.Integer({ minimum: 1, maximum: commandSecondsMax }), 30)),
  /** What the command reads from its standard input. */
  stdin: Type.Optional(Characters({ max: commandStdinCharactersMax })),
});

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
