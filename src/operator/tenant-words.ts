import { type IdOf, isId } from "../kernel/ids.ts";
import { required, UsageError, type Values } from "./command.ts";

/** A tenant's name has at most this many characters, and so has an API key's. */
const nameCharactersMax = 80;

/** Returns the id of `--tenant`. Throws `UsageError`. */
export function readTenant(values: Values): IdOf<"tenant"> {
  const tenantId = required(values, "tenant");
  if (!isId("tenant", tenantId)) throw new UsageError("--tenant must have the shape ten_….");
  return tenantId;
}

/** Returns the text of `--name`. Throws `UsageError`. */
export function readName(values: Values): string {
  const name = required(values, "name");
  const characters = [...name].length;
  if (characters < 1 || characters > nameCharactersMax || !name.isWellFormed() || /\p{Cc}/u.test(name))
    throw new UsageError(`--name must have 1 to ${nameCharactersMax} characters, without control characters.`);
  return name;
}

/** Returns the error of a tenant that is not there. */
export function noTenant(tenantId: IdOf<"tenant">): UsageError {
  return new UsageError(`There is no tenant ${tenantId}.`);
}
