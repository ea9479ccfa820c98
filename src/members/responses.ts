import { roles } from "../kernel/auth/roles.ts";
import { Component, example } from "../kernel/http/component.ts";
import { Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { MomentOrNull, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on members respond with, for the OpenAPI document. */
export const MemberResponse = Component("Member", {
  id: Id("member"),
  email: example(Text, "ana@example.org"),
  name: example(TextOrNull, "Ana"),
  role: example(Nullable(OneOf(...roles)), "editor"),
  groupRole: example(Nullable(OneOf(...roles)), null),
  invitedUntil: example(MomentOrNull, null),
  lastSignInAt: MomentOrNull,
  ...times,
});
export const MemberListResponse = pageOf("MemberPage", MemberResponse);
