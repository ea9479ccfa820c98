import { Elysia } from "elysia";
import { getAgent } from "../agents/store.ts";
import type { Ctx } from "../kernel/context.ts";
import type { ErrorCause } from "../kernel/errors.ts";
import { keyErrors, operation, pathIds, respondOnce } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Id } from "../kernel/ids.ts";
import { readSkillFile, removeSkillFile, writeSkillFile } from "./change.ts";
import { copySkill, type RecordCopy } from "./copies.ts";
import { checkFilePath } from "./paths.ts";
import { SkillCopiesResponse, SkillListResponse, SkillResponse } from "./responses.ts";
import { manifestPath, SkillCopies, SkillCreate, SkillFileQuery, SkillList, SkillUpload, skillPage } from "./schema.ts";
import { createSkill, deleteSkill, getSkill, listSkills, readSkill } from "./store.ts";
import { readFileBody, readSkillUpload } from "./upload.ts";

const ofAgent = pathIds({ agentId: Id("agent") });
const ofSkill = pathIds({ agentId: Id("agent"), skillId: Id("skill") });
const createErrors: readonly ErrorCause[] = [
  "not_found",
  "skill_invalid_markdown",
  "skill_limit_reached",
  "skill_name_conflict",
  "skill_uncompressed_too_large",
];
const fileErrors: readonly ErrorCause[] = ["not_found", "skill_not_found"];

/** Skills of an agent: `/v1/agents/:agentId/skills`. */
export function skillRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/skills" })
    .use(folderRoutes(ctx))
    .use(fileRoutes(ctx))
    .post(
      "/:skillId/copies",
      operation(ctx, {
        id: "skills.copy",
        role: "editor",
        stores: "body",
        audit: "skill.copy",
        summary: "Copy a skill to other agents",
        params: ofSkill,
        body: SkillCopies,
        success: 200,
        response: SkillCopiesResponse,
        errors: fileErrors,
        handle: ({ sql, commit, principal, audit, reservation, tenantId, form, params, body }) => {
          const place = { tenantId, ...params };
          const to = { agentIds: body.agentIds, within: principal.agentIds };
          const record: RecordCopy = (inner, resourceId) => audit.write(inner, { resourceId, changes: [] });
          // Without a response to keep, each destination has its own transaction.
          if (reservation === null) return copySkill(sql, place, to, form, record);
          return commit((inner, note) => {
            note.isWritten = true;
            return copySkill(inner, place, to, form, record);
          });
        },
      }),
    );
}

function folderRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "",
      operation(ctx, {
        id: "skills.list",
        role: "reader",
        summary: "List an agent's skills",
        params: ofAgent,
        query: SkillList,
        success: 200,
        response: SkillListResponse,
        errors: ["not_found", "invalid_cursor"],
        handle: ({ sql, tenantId, params, query }) =>
          listSkills(sql, tenantId, params.agentId, query.cursor, readLimit(query.limit, skillPage)),
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "skills.create",
        role: "editor",
        stores: "body",
        audit: "skill.create",
        summary: "Create a skill from its SKILL.md",
        params: ofAgent,
        body: SkillCreate,
        success: 201,
        response: SkillResponse,
        errors: createErrors,
        handle: async ({ commit, tenantId, params, body }) => {
          const skill = await readSkill(new Map([[manifestPath, Buffer.from(body.content)]]));
          return commit((inner) => createSkill(inner, tenantId, params.agentId, skill));
        },
      }),
    )
    .post(
      "/upload",
      operation(ctx, {
        id: "skills.upload",
        role: "editor",
        stores: "body",
        audit: "skill.create",
        summary: "Create a skill from an archive",
        params: ofAgent,
        body: "raw",
        rawBody: { "multipart/form-data": SkillUpload },
        idempotency: "own",
        success: 201,
        response: SkillResponse,
        errors: [...createErrors, "skill_invalid_archive", "skill_too_many_files", "payload_too_large", ...keyErrors],
        handle: async (input) => {
          const { tenantId, params, request } = input;
          await getAgent(ctx.sql, tenantId, params.agentId);
          const { folder, meaning } = await readSkillUpload(request);
          const skill = await readSkill(folder);
          return respondOnce(ctx, input, { success: 201, role: "editor" }, meaning, (inner) =>
            createSkill(inner, tenantId, params.agentId, skill),
          );
        },
      }),
    )
    .use(oneRoutes(ctx));
}

function oneRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:skillId",
      operation(ctx, {
        id: "skills.get",
        role: "reader",
        summary: "Get a skill",
        params: ofSkill,
        success: 200,
        response: SkillResponse,
        errors: fileErrors,
        handle: ({ sql, tenantId, params }) => getSkill(sql, tenantId, params.agentId, params.skillId),
      }),
    )
    .delete(
      "/:skillId",
      operation(ctx, {
        id: "skills.delete",
        role: "editor",
        audit: "skill.delete",
        summary: "Delete a skill",
        params: ofSkill,
        success: 204,
        errors: fileErrors,
        handle: ({ commit, tenantId, params }) =>
          commit((inner) => deleteSkill(inner, tenantId, params.agentId, params.skillId)),
      }),
    );
}

function fileRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/:skillId/files" })
    .get(
      "",
      operation(ctx, {
        id: "skills.readFile",
        role: "reader",
        summary: "Read a file of a skill",
        params: ofSkill,
        query: SkillFileQuery,
        success: 200,
        response: "bytes",
        errors: fileErrors,
        handle: async ({ sql, tenantId, params, query }) => {
          const content = await readSkillFile(sql, { tenantId, ...params }, checkFilePath(query.path));
          const headers = { "Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff" };
          return new Response(content as Uint8Array<ArrayBuffer>, { headers });
        },
      }),
    )
    .put(
      "",
      operation(ctx, {
        id: "skills.writeFile",
        role: "editor",
        stores: "body",
        audit: "skill.write_file",
        summary: "Create or replace a file of a skill",
        params: ofSkill,
        query: SkillFileQuery,
        body: "raw",
        rawBody: { "application/octet-stream": "bytes" },
        success: 200,
        response: SkillResponse,
        errors: [
          ...fileErrors,
          "skill_invalid_markdown",
          "skill_too_many_files",
          "skill_name_conflict",
          "skill_uncompressed_too_large",
        ],
        handle: async ({ commit, tenantId, params, query, request }) => {
          const path = checkFilePath(query.path);
          const content = await readFileBody(request);
          return commit((inner) => writeSkillFile(inner, { tenantId, ...params }, path, content));
        },
      }),
    )
    .delete(
      "",
      operation(ctx, {
        id: "skills.deleteFile",
        role: "editor",
        audit: "skill.delete_file",
        summary: "Delete a file of a skill",
        params: ofSkill,
        query: SkillFileQuery,
        success: 200,
        response: SkillResponse,
        errors: fileErrors,
        handle: ({ commit, tenantId, params, query }) => {
          const path = checkFilePath(query.path);
          return commit(async (inner, note) => {
            const { skill, isRemoved } = await removeSkillFile(inner, { tenantId, ...params }, path);
            note.isWritten = !isRemoved;
            return skill;
          });
        },
      }),
    );
}
