import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { renderTemplate } from "./template.ts";

/**
 * Returns the text of a stored prompt with its variables filled in: what a turn with
 * `promptId` sends.
 *
 * Throws 404 `not_found` for a missing or foreign prompt, and what
 * `renderTemplate` throws.
 */
export async function renderPrompt(
  sql: AnySql,
  tenantId: string,
  promptId: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const [prompt] = await sql<{ template: string }[]>`
    select template from prompts where id = ${promptId} and tenant_id = ${tenantId}`;
  if (prompt === undefined) throw new ApiError("not_found", { message: "There is no such prompt." });
  return renderTemplate(prompt.template, variables);
}
