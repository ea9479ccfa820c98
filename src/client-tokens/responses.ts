import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Moment, Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { ClientAbilityField } from "./schema.ts";

/** What operations on client tokens respond with, for the OpenAPI document. */
export const ClientTokenCreatedResponse = Component("ClientTokenCreated", {
  id: Id("clientToken"),
  token: example(Text, "parleyc_0mk7q2v5c8d1f4h6j9n3p0rt"),
  can: example(Type.Array(ClientAbilityField), ["approvals", "clientTools"]),
  expiresAt: Moment,
});
