import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import type { ErrorCause, Form } from "../kernel/errors.ts";
import { type OperationId, operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Closed, Digits, pageQuery } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { findMcpTool as findToolOfServer } from "../mcp-connections/find-tool.ts";
import { listAttachments, updateAttachment } from "./attachments.ts";
import { newAvatarId, serveAvatar } from "./avatar.ts";
import { prepareAgent, prepareDraft, updateAgent } from "./change.ts";
import type { FindMcpTool } from "./confirmations.ts";
import type { AgentRules } from "./effective.ts";
import { agentChange } from "./form.ts";
import {
  AgentStatus,
  agentListResponse,
  agentResponse,
  agentVersionListResponse,
  agentVersionResponse,
  McpAttachmentListResponse,
  McpAttachmentResponse,
} from "./responses.ts";
import { savedQuestionRoutes } from "./saved-questions.ts";
import {
  AgentCreate,
  AgentCreateInA,
  AgentCreateShownInA,
  AgentDraft,
  AgentDraftInA,
  AgentDraftShownInA,
  AgentList,
  AgentListInA,
  AgentUpdate,
  AgentUpdateInA,
  AgentUpdateShownInA,
  AttachmentUpdate,
  AvatarUpload,
  defaultModel,
} from "./schema.ts";
import { showAgent } from "./show.ts";
import { deleteAgent, getAgent, listAgents, lockAgent, refuseManaged, setAgentStatus, setAvatar } from "./store.ts";
import { readAvatar } from "./upload.ts";
import { getVersion, listVersions, readVersion } from "./versions.ts";

/** Where the forms behave differently (docs/forms.md, "Behaviour"). */
const rulesOf: Readonly<Record<Form, AgentRules>> = {
  a: { defaultModel, makesWorkspace: false, exclusiveWorkspace: true, modelAlone: true },
  b: { defaultModel: null, makesWorkspace: true, exclusiveWorkspace: false, modelAlone: false },
};

const agentPath = pathIds({ agentId: Id("agent") });
/** What an update or a draft changes beside its fields. */
const savedVersion = { version: Type.Integer() };
/** What enabling and disabling change, though no body names it. */
const savedStatus = { status: AgentStatus };
/** Of what a version has. */
const configErrors: readonly ErrorCause[] = [
  "invalid_request",
  "model_not_found",
  "agent_mcp_connection_not_found",
  "agent_mcp_connections_invalid",
  "mcp_connection_discovery_failed",
  "provider_missing_for_agent",
  "sandbox_required",
  "model_validation_unavailable",
];
const saveErrors: readonly ErrorCause[] = [
  ...configErrors,
  "workspace_missing_for_agent",
  "agent_name_conflict",
  "workspace_in_use",
];

/** Agents, their versions, pictures and MCP attachments: `/v1/agents`. */
export function agentRoutes(ctx: Ctx) {
  const findMcpTool: FindMcpTool = (tenantId, id, tool) => findToolOfServer(ctx, tenantId, id, tool);
  return new Elysia()
    .use(collectionRoutes(ctx, findMcpTool))
    .use(recordRoutes(ctx, findMcpTool))
    .use(statusRoutes(ctx))
    .use(avatarRoutes(ctx))
    .use(pictureRoute(ctx))
    .use(versionRoutes(ctx))
    .use(draftRoute(ctx, findMcpTool))
    .use(attachmentRoutes(ctx))
    .use(savedQuestionRoutes(ctx));
}

function collectionRoutes(ctx: Ctx, findMcpTool: FindMcpTool) {
  return new Elysia({ prefix: "/v1/agents" })
    .post(
      "",
      operation(ctx, {
        id: "agents.create",
        role: "editor",
        allAgents: true,
        stores: "body",
        audit: "agent.create",
        summary: "Create an agent",
        body: AgentCreate,
        bodyInA: AgentCreateInA,
        shownInA: AgentCreateShownInA,
        success: 201,
        ...agentResponse,
        change: agentChange,
        errors: saveErrors,
        handle: async ({ sql, commit, principal: { actor }, tenantId, form, body }) => {
          const write = await prepareAgent({ ctx, sql, tenantId, actor, rules: rulesOf[form], findMcpTool }, body);
          return commit(async (inner) => showAgent(ctx, await write(inner)));
        },
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "agents.list",
        role: "reader",
        summary: "List agents",
        query: AgentList,
        queryInA: AgentListInA,
        success: 200,
        ...agentListResponse,
        change: agentChange,
        errors: ["invalid_cursor"],
        handle: async ({ principal, sql, tenantId, query }) => {
          const { rows, end } = await listAgents(sql, tenantId, query, principal.agentIds);
          return { agents: rows.map((agent) => showAgent(ctx, agent)), ...end };
        },
      }),
    );
}

function recordRoutes(ctx: Ctx, findMcpTool: FindMcpTool) {
  return new Elysia({ prefix: "/v1/agents/:agentId" })
    .get(
      "",
      operation(ctx, {
        id: "agents.get",
        role: "reader",
        summary: "Read an agent",
        params: agentPath,
        success: 200,
        ...agentResponse,
        change: agentChange,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params }) => showAgent(ctx, await getAgent(sql, tenantId, params.agentId)),
      }),
    )
    .put(
      "",
      operation(ctx, {
        id: "agents.update",
        role: "editor",
        stores: "body",
        audit: "agent.update",
        summary: "Update an agent, which saves its next version",
        params: agentPath,
        body: AgentUpdate,
        bodyInA: AgentUpdateInA,
        shownInA: AgentUpdateShownInA,
        success: 200,
        ...agentResponse,
        change: agentChange,
        errors: ["not_found", "admin_agent_managed", ...saveErrors],
        handle: async ({ sql, audit, principal: { actor }, tenantId, form, params, body }) => {
          const change = { ctx, sql, tenantId, actor, rules: rulesOf[form], findMcpTool };
          const saved = await updateAgent(change, params.agentId, body, (inner, before, after) =>
            audit.write(inner, { before: showAgent(ctx, before), also: savedVersion }, showAgent(ctx, after)),
          );
          return showAgent(ctx, saved);
        },
      }),
    )
    .delete(
      "",
      operation(ctx, {
        id: "agents.delete",
        role: "editor",
        audit: "agent.delete",
        summary: "Delete an agent with its sessions, memories, skills and tasks",
        params: agentPath,
        success: 204,
        errors: ["not_found", "admin_agent_managed"],
        handle: ({ commit, tenantId, params }) => commit((inner) => deleteAgent(inner, tenantId, params.agentId)),
      }),
    );
}

function statusRoutes(ctx: Ctx) {
  const move = (id: OperationId, summary: string, status: "active" | "disabled") =>
    operation(ctx, {
      id,
      role: "editor",
      audit: status === "active" ? "agent.enable" : "agent.disable",
      summary,
      params: agentPath,
      success: 200,
      ...agentResponse,
      change: agentChange,
      errors: ["not_found", "admin_agent_managed"],
      handle: ({ commit, tenantId, params }) =>
        commit(async (inner, note) => {
          note.also = savedStatus;
          note.before = await lockAgent(inner, tenantId, params.agentId);
          return showAgent(ctx, await setAgentStatus(inner, tenantId, params.agentId, status));
        }),
    });
  return new Elysia({ prefix: "/v1/agents/:agentId" })
    .post("/disable", move("agents.disable", "Disable an agent: no new turns", "disabled"))
    .post("/enable", move("agents.enable", "Enable an agent", "active"));
}

function avatarRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/avatar" })
    .post(
      "",
      operation(ctx, {
        id: "agents.uploadAvatar",
        role: "editor",
        stores: "body",
        audit: "agent.upload_avatar",
        summary: "Upload an agent's picture",
        params: agentPath,
        body: "raw",
        rawBody: { "multipart/form-data": AvatarUpload },
        // A repeat leaves the same picture, so no response needs to be kept.
        idempotency: "own",
        success: 200,
        ...agentResponse,
        change: agentChange,
        errors: ["avatar_missing", "avatar_too_large", "avatar_media_type", "not_found", "admin_agent_managed"],
        handle: async ({ sql, commit, tenantId, params, request }) => {
          refuseManaged(await getAgent(sql, tenantId, params.agentId));
          const picture = { id: newAvatarId(), ...(await readAvatar(request)) };
          return commit(async (inner, note) => {
            note.changes = ["avatarUrl"];
            return showAgent(ctx, await setAvatar(inner, tenantId, params.agentId, picture));
          });
        },
      }),
    )
    .delete(
      "",
      operation(ctx, {
        id: "agents.deleteAvatar",
        role: "editor",
        audit: "agent.delete_avatar",
        summary: "Remove an agent's picture",
        params: agentPath,
        success: 200,
        ...agentResponse,
        change: agentChange,
        errors: ["not_found", "admin_agent_managed"],
        handle: ({ commit, tenantId, params }) =>
          commit(async (inner, note) => {
            note.changes = ["avatarUrl"];
            note.before = showAgent(ctx, await lockAgent(inner, tenantId, params.agentId));
            return showAgent(ctx, await setAvatar(inner, tenantId, params.agentId, null));
          }),
      }),
    );
}

/** The one route that takes no credential: the URL's signature is the permission. */
function pictureRoute(ctx: Ctx) {
  return new Elysia().get("/v1/avatars/:agentId", ({ request, params }) =>
    serveAvatar(ctx.sql, ctx.sealer, params.agentId, new URL(request.url).search),
  );
}

function versionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/versions" })
    .get(
      "",
      operation(ctx, {
        id: "agents.listVersions",
        role: "reader",
        summary: "List an agent's versions",
        params: agentPath,
        query: Closed(pageQuery),
        success: 200,
        ...agentVersionListResponse,
        change: agentChange,
        errors: ["not_found", "invalid_cursor"],
        handle: ({ sql, tenantId, params, query }) =>
          listVersions(sql, tenantId, params.agentId, query.cursor, readLimit(query.limit)),
      }),
    )
    .get(
      "/:version",
      operation(ctx, {
        id: "agents.getVersion",
        role: "reader",
        summary: "Read a version of an agent",
        params: pathIds({ agentId: Id("agent"), version: Digits({ minimum: 1 }, Number.POSITIVE_INFINITY) }),
        success: 200,
        ...agentVersionResponse,
        change: agentChange,
        errors: ["not_found", "version_missing"],
        handle: ({ sql, tenantId, params }) => getVersion(sql, tenantId, params.agentId, readVersion(params.version)),
      }),
    );
}

/** What is tried before it becomes a version. */
function draftRoute(ctx: Ctx, findMcpTool: FindMcpTool) {
  return new Elysia({ prefix: "/v1/agents/:agentId/drafts" }).post(
    "",
    operation(ctx, {
      id: "agents.createDraft",
      role: "editor",
      stores: "body",
      audit: "agent.create_draft",
      summary: "Save changes of an agent as a draft, with which a session can be begun",
      description:
        "The agent stays as it is. The fields are laid over its present version and checked as an update's; `version` of the response begins a session or a generation with them.",
      params: agentPath,
      body: AgentDraft,
      bodyInA: AgentDraftInA,
      shownInA: AgentDraftShownInA,
      success: 201,
      ...agentVersionResponse,
      change: agentChange,
      errors: ["not_found", "admin_agent_managed", ...configErrors],
      handle: async ({ sql, commit, principal: { actor }, tenantId, form, params: { agentId }, body }) => {
        const change = { ctx, sql, tenantId, actor, rules: rulesOf[form], findMcpTool };
        const write = await prepareDraft(change, agentId, body);
        return commit(async (inner, note) => {
          const draft = await getVersion(inner, tenantId, agentId, await write(inner));
          note.also = savedVersion;
          note.after = draft;
          return draft;
        });
      },
    }),
  );
}

function attachmentRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/mcp-attachments" })
    .get(
      "",
      operation(ctx, {
        id: "agents.listMcpAttachments",
        role: "reader",
        summary: "List an agent's MCP attachments",
        params: agentPath,
        success: 200,
        response: McpAttachmentListResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params }) => ({
          mcpAttachments: await listAttachments(sql, tenantId, params.agentId),
        }),
      }),
    )
    .patch(
      "/:mcpConnectionId",
      operation(ctx, {
        id: "agents.updateMcpAttachment",
        role: "editor",
        audit: "agent.update_mcp_attachment",
        summary: "Change what an MCP server is told of a session",
        params: pathIds({ agentId: Id("agent"), mcpConnectionId: Id("mcpConnection") }),
        body: AttachmentUpdate,
        success: 200,
        response: McpAttachmentResponse,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params, body }) =>
          commit(async (inner, note) => {
            const { before, after } = await updateAttachment(inner, tenantId, params, body);
            Object.assign(note, { resourceId: params.agentId, before, after });
            return after;
          }),
      }),
    );
}
