import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { ActorResponse, Moment, pageOf, Text, TextOrNull } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What became of a changed field, as text. */
const ChangedValueResponse = Component("ChangedValue", {
  field: example(Text, "model"),
  before: example(TextOrNull, "gpt-5-mini"),
  after: example(Text, "gpt-5"),
});
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
  changes: example(Type.Array(Text), ["instructions", "model"]),
  values: Type.Array(ChangedValueResponse),
});
export const AuditEventListResponse = pageOf("AuditEventPage", AuditEventResponse);
