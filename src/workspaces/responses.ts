import { type TSchema, Type } from "@sinclair/typebox";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, listOf, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { SandboxId } from "./sandbox-id.ts";

/** The response schemas of operations on workspaces and sandboxes, for the OpenAPI document. */
const under = (id: TSchema) =>
  Closed({ id, tenantId: Id("tenant"), name: Text, ...attribution, status: OneOf("ready", "deleting"), ...times });
export const WorkspaceResponse = under(Id("workspace"));
export const SandboxResponse = under(SandboxId);
export const WorkspaceListResponse = pageOf(WorkspaceResponse);
export const SandboxListResponse = pageOf(SandboxResponse);
/** A workspace with many files is deleted by a job. */
export const WorkspaceDeletingResponse = Closed({ status: Type.Literal("deleting") });
export const WorkspaceFileResponse = Closed({ path: Text, sizeBytes: Type.Integer() });
export const WorkspaceFileListResponse = listOf("files", WorkspaceFileResponse);
