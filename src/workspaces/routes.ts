import type { Static, TObject } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { readBytes } from "../kernel/bounded-read.ts";
import type { Ctx } from "../kernel/context.ts";
import { lockRow } from "../kernel/database/lock-row.ts";
import { ApiError } from "../kernel/errors.ts";
import type { FormChange } from "../kernel/http/form.ts";
import { type Input, operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Reply } from "../kernel/http/reply.ts";
import { Id } from "../kernel/ids.ts";
import { commandRoutes } from "./command-routes.ts";
import { deleteWorkspaceFile, listWorkspaceFiles, readWorkspaceFile, writeWorkspaceFiles } from "./files.ts";
import { fileBytesMax } from "./limits.ts";
import { isRootPath, readFilePath } from "./paths.ts";
import { deleteWorkspace } from "./remove.ts";
import {
  SandboxListResponse,
  SandboxResponse,
  WorkspaceDeletingResponse,
  WorkspaceFileListResponse,
  WorkspaceFileResponse,
  WorkspaceListResponse,
  WorkspaceResponse,
} from "./responses.ts";
import { SandboxId, sandboxIdOf, workspaceIdOf } from "./sandbox-id.ts";
import {
  FileOrListQuery,
  FileQuery,
  type Workspace,
  WorkspaceCreate,
  WorkspaceList,
  WorkspaceUpdate,
} from "./schema.ts";
import {
  createWorkspace,
  getWorkspace,
  listWorkspaces,
  requireWorkspace,
  updateWorkspace,
  withWorkspace,
} from "./store.ts";

/** Workspaces and form A's sandboxes, `/v1/workspaces` and `/v1/sandboxes`: one resource with two id prefixes. */
export function workspaceRoutes(ctx: Ctx) {
  return new Elysia().use(recordRoutes(ctx)).use(fileRoutes(ctx)).use(sandboxRoutes(ctx)).use(commandRoutes(ctx));
}

const workspacePath = pathIds({ workspaceId: Id("workspace") });
const sandboxPath = pathIds({ sandboxId: SandboxId });

/** A sandbox is a workspace with another id; the fields are the same. */
const sandboxChange: FormChange = {
  up: (fields) => ({ ...fields }),
  down: (fields) => (typeof fields.id === "string" ? { ...fields, id: sandboxIdOf(fields.id) } : { ...fields }),
};

type ListInput = Pick<
  Input<typeof workspacePath, typeof WorkspaceList, typeof workspacePath>,
  "sql" | "principal" | "tenantId"
> & {
  readonly query: Static<typeof WorkspaceList>;
};

/** Adds what commands run in, which is this process's. */
function shownBy({ config }: Ctx) {
  return (workspace: Workspace) => ({ ...workspace, runtime: config.sandbox.runtime });
}

async function listPage(ctx: Ctx, { sql, tenantId, principal: { agentIds }, query }: ListInput) {
  const { userId, cursor, limit } = query;
  const page = await listWorkspaces(sql, { tenantId, userId, agentIds, cursor, limit: readLimit(limit) });
  return { ...page, data: page.data.map(shownBy(ctx)) };
}

type RemoveInput = Pick<Input<typeof workspacePath, typeof WorkspaceList, typeof workspacePath>, "commit" | "tenantId">;

function remove({ commit, tenantId }: RemoveInput, id: string) {
  return commit(async (inner) => {
    const outcome = await deleteWorkspace(inner, tenantId, id);
    return outcome === "deleted"
      ? new Reply(undefined, { status: 204 })
      : new Reply({ status: outcome }, { status: 202 });
  });
}

type UpdateInput = Pick<Input<TObject, TObject, typeof WorkspaceUpdate>, "commit" | "tenantId" | "body">;

function update(ctx: Ctx, { commit, tenantId, body }: UpdateInput, id: string) {
  return commit(async (inner, note) => {
    await lockRow(inner, "workspaces", tenantId, id);
    note.before = await getWorkspace(inner, tenantId, id);
    return shownBy(ctx)(await updateWorkspace(inner, tenantId, id, body));
  });
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/workspaces" })
    .post(
      "",
      operation(ctx, {
        id: "workspaces.create",
        role: "editor",
        stores: "body",
        audit: "workspace.create",
        summary: "Create a workspace",
        body: WorkspaceCreate,
        success: 201,
        response: WorkspaceResponse,
        errors: ["invalid_request"],
        onlyForm: "b",
        handle: ({ commit, tenantId, body }) =>
          commit(async (inner) => shownBy(ctx)(await createWorkspace(inner, tenantId, body, "workspace"))),
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "workspaces.list",
        role: "reader",
        summary: "List workspaces",
        query: WorkspaceList,
        success: 200,
        response: WorkspaceListResponse,
        errors: ["invalid_cursor"],
        onlyForm: "b",
        handle: (input) => listPage(ctx, input),
      }),
    )
    .use(oneWorkspaceRoutes(ctx));
}

function oneWorkspaceRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:workspaceId",
      operation(ctx, {
        id: "workspaces.get",
        role: "reader",
        summary: "Get a workspace",
        params: workspacePath,
        success: 200,
        response: WorkspaceResponse,
        errors: ["workspace_not_found"],
        onlyForm: "b",
        handle: async ({ sql, tenantId, params }) =>
          shownBy(ctx)(await getWorkspace(sql, tenantId, params.workspaceId)),
      }),
    )
    .patch(
      "/:workspaceId",
      operation(ctx, {
        id: "workspaces.update",
        role: "editor",
        stores: "body",
        audit: "workspace.update",
        summary: "Update a workspace",
        params: workspacePath,
        body: WorkspaceUpdate,
        success: 200,
        response: WorkspaceResponse,
        errors: ["workspace_not_found", "workspace_delete_conflict"],
        onlyForm: "b",
        handle: (input) => update(ctx, input, input.params.workspaceId),
      }),
    )
    .delete(
      "/:workspaceId",
      operation(ctx, {
        id: "workspaces.delete",
        role: "editor",
        audit: "workspace.delete",
        summary: "Delete a workspace",
        params: workspacePath,
        success: 204,
        otherwise: { 202: WorkspaceDeletingResponse },
        errors: ["workspace_not_found", "workspace_in_use"],
        onlyForm: "b",
        handle: (input) => remove(input, input.params.workspaceId),
      }),
    );
}

const shared = { change: sandboxChange, onlyForm: "a" } as const;
const storing = { ...shared, stores: "body" } as const;

function sandboxRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/sandboxes" })
    .post(
      "",
      operation(ctx, {
        ...storing,
        id: "sandboxes.create",
        role: "editor",
        audit: "sandbox.create",
        summary: "Create a sandbox",
        body: WorkspaceCreate,
        success: 201,
        response: SandboxResponse,
        errors: ["invalid_request"],
        handle: ({ commit, tenantId, body }) =>
          commit(async (inner, note) => {
            const made = await createWorkspace(inner, tenantId, body, "sandbox");
            note.resourceId = sandboxIdOf(made.id);
            return shownBy(ctx)(made);
          }),
      }),
    )
    .get(
      "",
      operation(ctx, {
        ...shared,
        id: "sandboxes.list",
        role: "reader",
        summary: "List sandboxes",
        query: WorkspaceList,
        success: 200,
        response: SandboxListResponse,
        errors: ["invalid_cursor"],
        handle: (input) => listPage(ctx, input),
      }),
    )
    .use(oneSandboxRoutes(ctx));
}

function oneSandboxRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:sandboxId",
      operation(ctx, {
        ...shared,
        id: "sandboxes.get",
        role: "reader",
        summary: "Get a sandbox",
        params: sandboxPath,
        success: 200,
        response: SandboxResponse,
        errors: ["workspace_not_found"],
        handle: async ({ sql, tenantId, params }) =>
          shownBy(ctx)(await getWorkspace(sql, tenantId, workspaceIdOf(params.sandboxId))),
      }),
    )
    .put(
      "/:sandboxId",
      operation(ctx, {
        ...storing,
        id: "sandboxes.update",
        role: "editor",
        audit: "sandbox.update",
        summary: "Update a sandbox",
        params: sandboxPath,
        body: WorkspaceUpdate,
        success: 200,
        response: SandboxResponse,
        errors: ["workspace_not_found", "workspace_delete_conflict"],
        handle: (input) => update(ctx, input, workspaceIdOf(input.params.sandboxId)),
      }),
    )
    .delete(
      "/:sandboxId",
      operation(ctx, {
        ...shared,
        id: "sandboxes.delete",
        role: "editor",
        audit: "sandbox.delete",
        summary: "Delete a sandbox",
        params: sandboxPath,
        success: 204,
        otherwise: { 202: WorkspaceDeletingResponse },
        errors: ["workspace_not_found", "workspace_in_use"],
        handle: (input) => remove(input, workspaceIdOf(input.params.sandboxId)),
      }),
    );
}

function fileRoutes(ctx: Ctx) {
  const errors = ["workspace_not_found", "workspace_delete_conflict"] as const;
  return new Elysia({ prefix: "/v1/workspaces/:workspaceId/files" })
    .get(
      "",
      operation(ctx, {
        id: "workspaces.getFiles",
        role: "reader",
        summary: "List a workspace's files, or read one",
        params: workspacePath,
        query: FileOrListQuery,
        success: 200,
        response: [WorkspaceFileListResponse, "bytes"],
        errors: [...errors, "not_found"],
        onlyForm: "b",
        handle: async ({ sql, tenantId, params: { workspaceId }, query }) => {
          const path = query.path === undefined || isRootPath(query.path) ? null : readFilePath(query.path);
          await requireWorkspace(sql, tenantId, workspaceId);
          if (path === null) return { files: await listWorkspaceFiles(sql, workspaceId) };
          const content = await readWorkspaceFile(sql, workspaceId, path);
          if (content === null) throw new ApiError("not_found", { message: "There is no such file." });
          const headers = { "Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff" };
          return new Response(content as BodyInit, { headers });
        },
      }),
    )
    .put(
      "",
      operation(ctx, {
        id: "workspaces.writeFile",
        role: "editor",
        stores: "own",
        audit: "workspace.write_file",
        summary: "Create or replace a workspace's file",
        params: workspacePath,
        query: FileQuery,
        body: "raw",
        rawBody: { "application/octet-stream": "bytes" },
        success: 200,
        response: WorkspaceFileResponse,
        errors: [...errors, "invalid_request", "payload_too_large"],
        onlyForm: "b",
        handle: async ({ sql, commit, tenantId, params: { workspaceId }, query, request }) => {
          const path = readFilePath(query.path);
          await requireWorkspace(sql, tenantId, workspaceId);
          const content = await readBytes(request, fileBytesMax);
          return commit(async (inner) => {
            await withWorkspace(inner, tenantId, workspaceId, () =>
              writeWorkspaceFiles(inner, workspaceId, null, [{ path, content }]),
            );
            return { path, sizeBytes: content.byteLength };
          });
        },
      }),
    )
    .delete(
      "",
      operation(ctx, {
        id: "workspaces.deleteFile",
        role: "editor",
        audit: "workspace.delete_file",
        summary: "Delete a workspace's file",
        params: workspacePath,
        query: FileQuery,
        success: 204,
        errors,
        onlyForm: "b",
        handle: ({ commit, tenantId, params: { workspaceId }, query }) => {
          const path = readFilePath(query.path);
          return commit(async (inner, note) => {
            await withWorkspace(inner, tenantId, workspaceId, async () => {
              note.isWritten = !(await deleteWorkspaceFile(inner, workspaceId, path));
            });
          });
        },
      }),
    );
}
