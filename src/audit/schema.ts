import { Type } from "@sinclair/typebox";
import { MomentText } from "../kernel/http/date-time.ts";
import { Characters, Closed, pageQuery } from "../kernel/http/request-fields.ts";

/** A filter of the list has at most this many characters, like the longest that a `userId` may have. */
const filterCharactersMax = 256;
const Filter = Type.Optional(Characters({ min: 1, max: filterCharactersMax }));

export const AuditEventQuery = Closed({
  action: Filter,
  actorId: Filter,
  resourceId: Filter,
  from: Type.Optional(MomentText),
  to: Type.Optional(MomentText),
  ...pageQuery,
});
