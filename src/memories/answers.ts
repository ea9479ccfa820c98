import { Id } from "../ids.ts";
import { Closed } from "../schema.ts";
import { Moment, pageOf, Text, times } from "../shown.ts";

/** What operations on memories answer (document 1, "Memory"), for the OpenAPI document. */
export const Shown = Closed({
  id: Id("memory"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  userId: Text,
  text: Text,
  lastAccessedAt: Moment,
  ...times,
});
export const Listed = pageOf(Shown);
