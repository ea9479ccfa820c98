import { type TSchema, Type } from "@sinclair/typebox";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, listOf, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { SandboxId } from "./sandbox-id.ts";

/** What operations on workspaces and sandboxes answer (design section 3), for the OpenAPI document. */
const under = (id: TSchema) =>
  Closed({ id, tenantId: Id("tenant"), name: Text, ...attribution, status: OneOf("ready", "deleting"), ...times });
export const ShownWorkspace = under(Id("workspace"));
export const ShownSandbox = under(SandboxId);
export const Workspaces = pageOf(ShownWorkspace);
export const Sandboxes = pageOf(ShownSandbox);
/** Many files are deleted by and by. */
export const Deleting = Closed({ status: Type.Literal("deleting") });
export const ShownFile = Closed({ path: Text, sizeBytes: Type.Integer() });
export const Files = listOf("files", ShownFile);
