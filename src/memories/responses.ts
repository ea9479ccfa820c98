import { Closed } from "../kernel/http/request-fields.ts";
import { Moment, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The response schemas of operations on memories, for the OpenAPI document. */
export const MemoryResponse = Closed({
  id: Id("memory"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  userId: Text,
  text: Text,
  lastAccessedAt: Moment,
  ...times,
});
export const MemoryListResponse = pageOf(MemoryResponse);
