import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { keyErrors, operation, pathIds, respondOnce } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import {
  checkLibrarySkillChange,
  createLibrarySkill,
  deleteLibrarySkill,
  getLibrarySkill,
  listLibrary,
  updateLibrarySkill,
} from "./library.ts";
import { LibrarySkillListResponse, LibrarySkillResponse } from "./responses.ts";
import {
  LibraryCreateFields,
  LibraryQuery,
  LibrarySkillCreate,
  LibrarySkillUpdate,
  LibraryUpdateFields,
} from "./schema.ts";
import { readLibraryUpload } from "./upload.ts";

/** The library: skills of the tenant and of the platform, `/v1/skills`. */
export function libraryRoutes(ctx: Ctx) {
  const params = pathIds({ skillId: Id("skill") });
  return new Elysia({ prefix: "/v1/skills" })
    .post(
      "",
      operation(ctx, {
        id: "skillLibrary.create",
        role: "editor",
        stores: "body",
        audit: "skill.create",
        summary: "Add a skill to the library",
        body: "raw",
        rawBody: { "multipart/form-data": LibrarySkillCreate },
        idempotency: "own",
        success: 201,
        response: LibrarySkillResponse,
        errors: ["invalid_request", "payload_too_large", ...keyErrors],
        handle: async (input) => {
          const { tenantId, request } = input;
          const upload = await readLibraryUpload(request, LibraryCreateFields);
          const attribution = { userId: upload.userId, metadata: upload.metadata ?? {} };
          return respondOnce(ctx, input, { success: 201, role: "editor" }, upload.meaning, (inner) =>
            createLibrarySkill(inner, tenantId, upload, attribution),
          );
        },
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "skillLibrary.list",
        role: "reader",
        summary: "List the library",
        query: LibraryQuery,
        success: 200,
        response: LibrarySkillListResponse,
        handle: async ({ sql, tenantId, query: { filter = "all", userId } }) => ({
          skills: await listLibrary(sql, tenantId, filter, userId),
        }),
      }),
    )
    .get(
      "/:skillId",
      operation(ctx, {
        id: "skillLibrary.get",
        role: "reader",
        summary: "Get a skill of the library",
        params,
        success: 200,
        response: LibrarySkillResponse,
        errors: ["not_found"],
        handle: ({ sql, tenantId, params: { skillId } }) => getLibrarySkill(sql, tenantId, skillId),
      }),
    )
    .use(changeRoutes(ctx));
}

function changeRoutes(ctx: Ctx) {
  const params = pathIds({ skillId: Id("skill") });
  return new Elysia()
    .put(
      "/:skillId",
      operation(ctx, {
        id: "skillLibrary.update",
        role: "editor",
        stores: "body",
        audit: "skill.update",
        summary: "Replace a skill of the library, which stores its next version",
        params,
        body: "raw",
        rawBody: { "multipart/form-data": LibrarySkillUpdate },
        success: 200,
        response: LibrarySkillResponse,
        errors: ["invalid_request", "platform_skill_read_only", "not_found", "payload_too_large"],
        handle: async ({ sql, commit, tenantId, params: { skillId }, request }) => {
          await checkLibrarySkillChange(sql, tenantId, skillId);
          const upload = await readLibraryUpload(request, LibraryUpdateFields);
          return commit(async (inner, note) => {
            note.changes = upload.metadata === undefined ? ["file"] : ["file", "metadata"];
            return updateLibrarySkill(inner, tenantId, skillId, upload, upload.metadata);
          });
        },
      }),
    )
    .delete(
      "/:skillId",
      operation(ctx, {
        id: "skillLibrary.delete",
        role: "editor",
        audit: "skill.delete",
        summary: "Delete a skill of the library",
        params,
        success: 204,
        errors: ["platform_skill_read_only", "not_found"],
        handle: ({ commit, tenantId, params: { skillId } }) =>
          commit((inner) => deleteLibrarySkill(inner, tenantId, skillId)),
      }),
    );
}
