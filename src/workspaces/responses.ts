import { type TSchema, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { OneOf } from "../kernel/http/request-fields.ts";
import { attribution, listOf, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { SandboxId } from "./sandbox-id.ts";

/** What operations on workspaces and sandboxes respond with, for the OpenAPI document. */
const under = (component: string, id: TSchema) =>
  Component(component, {
    id,
    tenantId: Id("tenant"),
    name: example(Text, "Reports"),
    ...attribution,
    status: OneOf("ready", "deleting"),
    /** What commands run in (docs/sandboxes.md). */
    runtime: OneOf("simulated", "bubblewrap", "remote"),
    ...times,
  });
export const WorkspaceResponse = under("Workspace", Id("workspace"));
export const SandboxResponse = under("Sandbox", SandboxId);
export const WorkspaceListResponse = pageOf("WorkspacePage", WorkspaceResponse);
export const SandboxListResponse = pageOf("SandboxPage", SandboxResponse);
/** Many files are deleted by a job, after the response. */
export const WorkspaceDeletingResponse = Component("WorkspaceDeleting", { status: Type.Literal("deleting") });
export const WorkspaceFileResponse = Component("WorkspaceFile", {
  path: example(Text, "reports/march.md"),
  sizeBytes: example(Type.Integer(), 640),
});
export const WorkspaceFileListResponse = listOf("WorkspaceFileList", "files", WorkspaceFileResponse);

export const CommandResponse = Component("WorkspaceCommand", {
  /** 124 when its time has ended it. */
  exitCode: example(Type.Integer(), 0),
  stdout: example(Text, "total 0\n"),
  /** What was left out of the workspace, and why a limit ended the command, stands at its end. */
  stderr: example(Text, ""),
  /** Whether only the beginning of the output is shown. */
  truncated: Type.Boolean(),
  durationMs: example(Type.Integer(), 12),
});
