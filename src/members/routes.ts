import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { MomentOrNull } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { MemberListResponse, MemberResponse } from "./responses.ts";
import { MemberCreate, MemberListQuery, MemberUpdate } from "./schema.ts";
import { changeMember, createMember, getMember, listMembers, removeMember } from "./store.ts";

const params = pathIds({ memberId: Id("member") });

/** People who sign in to the console: `/v1/members`. A member is one of all agents, so a credential that is limited to some has no part in it. */
export function memberRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/members" })
    .get(
      "",
      operation(ctx, {
        id: "members.list",
        role: "admin",
        allAgents: true,
        summary: "List members, newest first",
        description:
          "`role` was given by an admin, `groupRole` comes from groups of the identity provider; the higher one holds.",
        query: MemberListQuery,
        success: 200,
        response: MemberListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, query: { cursor, limit } }) =>
          listMembers(sql, tenantId, { cursor, limit: readLimit(limit) }),
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "members.create",
        role: "admin",
        allAgents: true,
        audit: "member.create",
        summary: "Invite a member",
        description:
          "Whoever signs in to the console with this address, which the identity provider has verified, has the role. The invitation ends at `invitedUntil`; no mail is sent.",
        body: MemberCreate,
        success: 201,
        response: MemberResponse,
        errors: ["member_exists", "member_limit_reached"],
        handle: ({ commit, tenantId, body }) => commit((inner) => createMember(inner, tenantId, body)),
      }),
    )
    .use(recordRoutes(ctx));
}

function recordRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:memberId",
      operation(ctx, {
        id: "members.get",
        role: "admin",
        allAgents: true,
        summary: "Read a member",
        params,
        success: 200,
        response: MemberResponse,
        errors: ["not_found"],
        handle: ({ sql, tenantId, params: { memberId } }) => getMember(sql, tenantId, memberId),
      }),
    )
    .patch(
      "/:memberId",
      operation(ctx, {
        id: "members.update",
        role: "admin",
        allAgents: true,
        audit: "member.update",
        endsAccess: true,
        summary: "Change a member's role",
        description: "It holds from the member's next request on. Who has not signed in yet is invited anew.",
        params,
        body: MemberUpdate,
        success: 200,
        response: MemberResponse,
        errors: ["not_found", "last_admin", "member_limit_reached"],
        handle: ({ commit, tenantId, principal: { actor }, params: { memberId: id }, body }) =>
          commit(async (inner, note) => {
            const { before, after } = await changeMember(inner, { tenantId, id, actor }, body.role);
            note.before = before;
            note.also = { invitedUntil: MomentOrNull };
            return after;
          }),
      }),
    )
    .delete(
      "/:memberId",
      operation(ctx, {
        id: "members.delete",
        role: "admin",
        allAgents: true,
        audit: "member.delete",
        endsAccess: true,
        summary: "Remove a member",
        description: "The member's next request is refused, in every session of the console.",
        params,
        success: 204,
        errors: ["not_found", "last_admin"],
        handle: ({ commit, tenantId, principal: { actor }, params: { memberId: id } }) =>
          commit((inner) => removeMember(inner, { tenantId, id, actor })),
      }),
    );
}
