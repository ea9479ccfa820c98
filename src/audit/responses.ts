import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { ActorResponse, Moment, pageOf, Text, TextOrNull } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What the list of audit events responds with, for the OpenAPI document. */
const AuditEventResponse = Component("AuditEvent", {
  id: Id("auditEvent"),
  at: Moment,
  actor: ActorResponse,
  actorName: example(TextOrNull, "Ana"),
  action: example(Text, "agent.update"),
  resourceType: example(Text, "agent"),
  resourceId: example(TextOrNull, "ag_0123456789abcdefghijklmn"),
  requestId: example(TextOrNull, "req_0123456789abcdefghijklmn"),
  changes: example(Type.Array(Text), ["instructions"]),
});
export const AuditEventListResponse = pageOf("AuditEventPage", AuditEventResponse);
