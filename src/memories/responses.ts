import { Component, example } from "../kernel/http/component.ts";
import { Moment, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on memories respond with, for the OpenAPI document. */
export const MemoryResponse = Component("Memory", {
  id: Id("memory"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  userId: example(Text, "user-42"),
  text: example(Text, "Prefers short answers."),
  lastAccessedAt: Moment,
  ...times,
});
export const MemoryListResponse = pageOf("MemoryPage", MemoryResponse);
