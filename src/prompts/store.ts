import type { Static } from "@sinclair/typebox";
import { type AnySql, json } from "../kernel/database/client.ts";
import { violatedConstraint } from "../kernel/database/failure.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { byTime, type ListPartEnd, readListPart } from "../kernel/http/list-part.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { type Prompt, type PromptCreate, type PromptQuery, type PromptUpdate, promptsPerTenantMax } from "./schema.ts";
import { checkTemplate, variablesOf } from "./template.ts";

interface PromptRow {
  id: IdOf<"prompt">;
  tenantId: string;
  name: string;
  template: string;
  userId: string;
  metadata: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
}

/**
 * Creates a prompt. Throws 400 `validation_failed` for the template, 400
 * `invalid_request` for a name in use and at the cap of 100.
 */
export async function createPrompt(
  sql: AnySql,
  tenantId: string,
  { name, template, userId = "", metadata = {} }: Static<typeof PromptCreate>,
): Promise<Prompt> {
  checkTemplate(template);
  return withUniqueName(
    tx(sql, async (inner) => {
      // The tenant's row is the lock that makes the count hold.
      await inner`select 1 from tenants where id = ${tenantId} for no key update`;
      const [count] = await inner<{ prompts: number }[]>`
        select count(*)::int as prompts from prompts where tenant_id = ${tenantId}`;
      if ((count?.prompts ?? 0) >= promptsPerTenantMax) {
        throw new ApiError("invalid_request", {
          message: `A tenant has at most ${promptsPerTenantMax} prompts; delete one first.`,
        });
      }
      const [row] = await inner<PromptRow[]>`
        insert into prompts (id, tenant_id, name, template, user_id, metadata)
        values (${newId("prompt")}, ${tenantId}, ${name}, ${template}, ${userId}, ${json(inner, metadata)})
        returning *`;
      return showPrompt(row as PromptRow);
    }),
  );
}

/** Returns a tenant's prompts, or those of one `userId`, most recently updated first. Throws 400 as `readListPart`. */
export async function listPrompts(
  sql: AnySql,
  tenantId: string,
  query: Static<typeof PromptQuery>,
): Promise<{ prompts: Prompt[] } & ListPartEnd> {
  const { userId } = query;
  const { rows, end } = await readListPart(["prompts", tenantId, userId], query, byTime, (place, rowsMax) => {
    return sql<(PromptRow & TimePlace)[]>`
      select *, ${placeInTime(sql, "updated_at")} from prompts where tenant_id = ${tenantId}
        ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
        ${olderThan(sql, place, "updated_at", "id")}
      order by updated_at desc, id desc limit ${rowsMax}`;
  });
  return { prompts: rows.map(showPrompt), ...end };
}

/** Reads a prompt. Throws 404. */
export async function getPrompt(sql: AnySql, tenantId: string, id: string): Promise<Prompt> {
  const [row] = await sql<PromptRow[]>`select * from prompts where id = ${id} and tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  return showPrompt(row);
}

/**
 * Changes the fields given; `metadata` is replaced whole. Throws 404, 400
 * `validation_failed` for the template, 400 `invalid_request` for a name in use.
 */
export async function updatePrompt(
  sql: AnySql,
  tenantId: string,
  id: string,
  { name, template, metadata }: Static<typeof PromptUpdate>,
): Promise<Prompt> {
  if (template !== undefined) checkTemplate(template);
  const [row] = await withUniqueName(sql<PromptRow[]>`
    update prompts set
      name = ${name ?? sql`name`},
      template = ${template ?? sql`template`},
      metadata = ${metadata === undefined ? sql`metadata` : json(sql, metadata)},
      updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`);
  if (row === undefined) throw new ApiError("not_found");
  return showPrompt(row);
}

/** Deletes a prompt for good, whether or not anything refers to it. Throws 404. */
export function deletePrompt(sql: AnySql, tenantId: string, id: string): Promise<void> {
  return tx(sql, async (inner) => {
    const { count } = await inner`delete from prompts where id = ${id} and tenant_id = ${tenantId}`;
    if (count === 0) throw new ApiError("not_found");
    await eraseResponses(inner, [id]);
  });
}

async function withUniqueName<T>(write: PromiseLike<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) !== "prompts_name") throw error;
    throw new ApiError("invalid_request", {
      message: "Another prompt has this name.",
      details: { issues: [{ path: "/name", message: "is the name of another prompt" }] },
    });
  }
}

function showPrompt(row: PromptRow): Prompt {
  return {
    id: row.id,
    tenantId: row.tenantId,
    name: row.name,
    template: row.template,
    variables: variablesOf(row.template),
    userId: row.userId,
    metadata: row.metadata,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
