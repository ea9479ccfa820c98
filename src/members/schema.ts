import { roles } from "../kernel/auth/roles.ts";
import { Component, example } from "../kernel/http/component.ts";
import { Characters, Closed, OneOf, pageQuery } from "../kernel/http/request-fields.ts";

/** Members that a tenant may have at once; who is in it by a group only does not count. */
export const membersPerTenantMax = 1_000;
/** A member who does not sign in for so long after being invited has to be invited again. */
export const invitationDays = 7;
/** No address that mail is sent to is longer. */
const emailCharactersMax = 254;

const fields = {
  role: example(OneOf(...roles), "editor"),
};

export const MemberCreate = Component("MemberCreate", {
  email: example(
    Characters({ min: 3, max: emailCharactersMax, pattern: "^[^\\s\\p{Cc}@]+@[^\\s\\p{Cc}@]+$" }),
    "ana@example.org",
  ),
  role: fields.role,
});
export const MemberUpdate = Component("MemberUpdate", fields);

export const MemberListQuery = Closed(pageQuery);
