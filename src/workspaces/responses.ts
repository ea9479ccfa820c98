import { type TSchema, Type } from "@sinclair/typebox";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, listOf, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { SandboxId } from "./sandbox-id.ts";

/** What operations on workspaces and sandboxes answer (design section 3), for the OpenAPI document. */
const under = (id: TSchema) =>
  Closed({ id, tenantId: Id("tenant"), name: Text, ...attribution, status: OneOf("ready", "deleting"), ...times });
export const WorkspaceResponse = under(Id("workspace"));
export const SandboxResponse = under(SandboxId);
export const WorkspaceListResponse = pageOf(WorkspaceResponse);
export const SandboxListResponse = pageOf(SandboxResponse);
/** Many files are deleted by and by. */
export const WorkspaceDeletingResponse = Closed({ status: Type.Literal("deleting") });
export const WorkspaceFileResponse = Closed({ path: Text, sizeBytes: Type.Integer() });
export const WorkspaceFileListResponse = listOf("files", WorkspaceFileResponse);
