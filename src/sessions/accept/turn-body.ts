import type { AnySql } from "../../kernel/database/client.ts";
import { invalid } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { isBlank } from "../../messages/blank.ts";
import { checkParts, type UiMessage } from "../../messages/ui-message.ts";
import { renderPrompt } from "../../prompts/render.ts";
import { checkResponseFormat } from "../response-format.ts";
import type { TurnBody } from "../schema.ts";

/** Checks the rules of a turn's body that concern several fields. Throws 400 naming the field. */
export function checkTurnBody(body: TurnBody, resumes: boolean): void {
  if (body.variables !== undefined && body.promptId === undefined)
    throw invalid("/variables", "is allowed only with promptId");
  checkResponseFormat(body.responseFormat);
  if (body.message?.parts.length === 0) throw invalid("/message/parts", "must have at least 1 items");
  if (body.message !== undefined) checkParts(body.message.parts, "/message/parts");
  if (body.trigger === "regenerate-message") {
    if (!resumes) throw invalid("/trigger", "a new session has nothing to regenerate");
    if (body.promptId !== undefined) throw invalid("/promptId", "is not allowed with a regeneration");
    return;
  }
  if (body.messageId !== undefined) throw invalid("/messageId", "is allowed only with a regeneration");
  if (body.message === undefined && body.promptId === undefined)
    throw invalid("/message", "is required, or promptId in its place");
  if (body.message !== undefined && body.promptId !== undefined)
    throw invalid("/promptId", "and message exclude each other");
}

/**
 * Throws 400 where the session has a message with the id of this one: the two could not be told apart. That of a turn
 * that failed is free, because the transcript does not hold it. `besides`: unfinished turns count as well, but for this one.
 */
export async function checkMessageId(
  sql: AnySql,
  sessionId: string | null,
  { message, trigger }: TurnBody,
  { besides }: { readonly besides?: string } = {},
): Promise<void> {
  if (sessionId === null || message?.role !== "user" || trigger === "regenerate-message") return;
  const line = sql`
    union all select 1 from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting', 'enqueued')
      and trigger = 'submit-message' and input->>'id' = ${message.id} and id <> ${besides ?? ""}`;
  const [held] = await sql`
    select /* message.exists */ 1 from messages where session_id = ${sessionId} and id = ${message.id} ${besides === undefined ? sql`` : line} limit 1`;
  if (held !== undefined) throw invalid("/message/id", "is the id of a message that the session has already");
}

/**
 * Returns the user's message: as sent, or a prompt rendered to text; null for a
 * regeneration. Throws as `renderPrompt`.
 */
export async function messageOf(sql: AnySql, tenantId: string, body: TurnBody): Promise<UiMessage | null> {
  if (body.trigger === "regenerate-message") return null;
  if (body.promptId === undefined) return body.message as UiMessage;
  const text = await renderPrompt(sql, tenantId, body.promptId, body.variables ?? {});
  if (isBlank(text)) throw invalid("/variables", "leave the prompt without a word");
  return { id: newId("message"), role: "user", parts: [{ type: "text", text }] };
}
