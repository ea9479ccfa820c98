import { listApiKeys } from "../apikeys/store.ts";
import { makeKey } from "../installation/actions.ts";
import { commandOperator } from "../installation/operator-audit.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { type IdOf, isId } from "../kernel/ids.ts";
import { type Command, required, UsageError, type Values } from "./command.ts";
import { noTenant, readName, readTenant } from "./tenant-words.ts";

/** `tenant key`: makes a key for a tenant that lost its own, in place of another one where `--replace` names it. */
export function readKey(values: Values): Command {
  const tenantId = readTenant(values);
  const name = values.name === undefined ? "from the operator" : readName(values);
  const replaced = values.replace === undefined ? null : required(values, "replace");
  if (replaced !== null && !isId("apiKey", replaced)) throw new UsageError("--replace must have the shape ak_….");
  return async (sql) => {
    const made = await makeKey(sql, commandOperator(), tenantId, name, replaced).catch(async (error: unknown) => {
      throw error instanceof ApiError ? await refusal(sql, tenantId, error) : error;
    });
    if (made === null) throw noTenant(tenantId);
    const { apiKeyId, token } = made;
    if (values.json === true) return `${JSON.stringify({ tenantId, apiKeyId, token })}\n`;
    return `Tenant   ${tenantId}\nKey id   ${apiKeyId}\nAPI key  ${token}\nThe key is shown only here.\n`;
  };
}

/** Returns what the operator can do: the keys that there are, of which one has to go. */
async function refusal(sql: AnySql, tenantId: IdOf<"tenant">, { reason }: ApiError): Promise<UsageError> {
  const { apiKeys } = await listApiKeys(sql, tenantId, {});
  const keys = apiKeys.map(({ id, name, keyFragment }) => `${id} (${name}, …${keyFragment})`).join(", ") || "none";
  if (reason === "not_found") return new UsageError(`The tenant has no key of this id; its keys: ${keys}.`);
  return new UsageError(
    `The tenant has ${apiKeys.length} keys, and may have no more; name one with --replace: ${keys}.`,
  );
}
