import type { Cause } from "./causes.ts";
import { fillMembers, freshName } from "./scene.ts";
import { send } from "./world.ts";

/** Errors of members. */
export const memberCauses: readonly Cause[] = [
  {
    ops: ["POST /v1/members"],
    row: "409 member_exists",
    async meet(s, form, op) {
      const email = `${freshName()}@example.org`;
      await s.parley.members.create({ email, role: "reader" });
      return send(s.t, op, form, { body: { email: email.toUpperCase(), role: "admin" } });
    },
  },
  {
    ops: ["POST /v1/members"],
    row: "400 member_limit_reached | 400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      await fillMembers(s, 1_000);
      return send(s.t, op, form, { body: { email: "one@example.org", role: "reader" } });
    },
  },
  {
    ops: ["PATCH /v1/members/:memberId"],
    row: "400 member_limit_reached | 400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      const memberId = await s.newMember();
      await s.sql`update members set role = null where id = ${memberId}`;
      await fillMembers(s, 1_000);
      return send(s.t, op, form, { params: { memberId }, body: { role: "reader" } });
    },
  },
];
