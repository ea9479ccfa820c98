import type { AuditActor } from "../kernel/auth/actor.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { textsOf } from "../messages/text.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import type { Delivery } from "./deliveries.ts";
import { storeParts } from "./delivery-states.ts";
import { platforms } from "./platforms.ts";
import type { ChatPlatformName } from "./schema.ts";
import { splitMarkdown } from "./split.ts";

/** A card shows at most so many UTF-16 units of a call's arguments. */
const argumentsUnitsMax = 1_500;
/** So many fit always, however they are escaped. */
const argumentsUnitsMin = 100;
/** A chat gets at most so many UTF-16 units of one answer. */
const replyUnitsMax = 128 * 1024;
/** Posted in place of the rest. */
const cutText = "(The answer goes on, but it is too long for a chat.)";
/** What the chat is told when the model's answer is empty. */
const emptyText = "I have no answer to this.";

/** The approval that a card is about. */
export interface CardApproval {
  readonly tool: string;
  readonly input: unknown;
  readonly status: "pending" | "approved" | "denied";
  readonly reason: string | null;
  readonly decidedBy: AuditActor | null;
  /** What the platform calls the person who decided. */
  readonly decidedByName: string | null;
}

/**
 * Returns the messages that a reply is posted as. The first time they are made from
 * the transcript and stored with the delivery, so that a repair posts the same ones
 * whatever happens to the transcript. Null when earlier replies have posted all of
 * it. Throws `MessageGoneError` when the message does not exist any more.
 */
export async function replyParts(sql: AnySql, delivery: Delivery): Promise<readonly string[] | null> {
  if (delivery.parts !== null) return delivery.parts;
  const [row] = await sql<{ content: UiMessage; posted: number }[]>`
    select content, coalesce((
      select max(upto_part) from chat_deliveries d
      where d.thread_id = ${delivery.threadId} and d.message_id = ${delivery.messageId} and d.id <> ${delivery.id}
        and d.upto_part <= ${delivery.uptoPart}), 0) as posted
    from messages where session_id = ${delivery.sessionId} and id = ${delivery.messageId} and role = 'assistant'`;
  if (row === undefined) throw new MessageGoneError("The message is gone.");
  const text = textBetween(row.content, row.posted, delivery.uptoPart ?? row.content.parts.length);
  if (text === "" && row.posted > 0) return null;
  const parts = text === "" ? [emptyText] : await cutToParts(delivery, text);
  await storeParts(sql, delivery.id, parts);
  return parts;
}

async function cutToParts({ platform }: Pick<Delivery, "platform">, text: string): Promise<string[]> {
  const { messageUnitsMax, fits } = platforms[platform];
  if (text.length <= replyUnitsMax) return splitMarkdown(text, messageUnitsMax, fits);
  const kept = text.slice(0, replyUnitsMax).toWellFormed();
  return [...(await splitMarkdown(kept, messageUnitsMax, fits)), cutText];
}

/** The message of a delivery does not exist any more. */
export class MessageGoneError extends Error {
  override readonly name = "MessageGoneError";
}

function textBetween(message: UiMessage, from: number, upto: number): string {
  return textsOf(message.parts.slice(from, upto))
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Returns the approval of a card; null when it was deleted with its session. */
export async function approvalOf(sql: AnySql, approvalId: IdOf<"approval">): Promise<CardApproval | null> {
  const [row] = await sql<CardApproval[]>`
    select tool, input, status, reason, decided_by, decided_by_name from approvals where id = ${approvalId}`;
  return row ?? null;
}

/**
 * Returns a card's text: the call that waits, or the decision on it. Of the arguments so
 * much is shown as fits into a message of the platform, escaped as it will be.
 */
export async function cardText(platform: ChatPlatformName, approval: CardApproval): Promise<string> {
  const input = JSON.stringify(approval.input ?? {}, null, 2);
  for (let units = argumentsUnitsMax; ; units = Math.floor(units / 2)) {
    const text = cardWith(approval, cutAt(input, units));
    if (units <= argumentsUnitsMin || (await platforms[platform].fitsCard(text))) return text;
  }
}

function cardWith(approval: CardApproval, input: string): string {
  const call = quoted(approval.tool);
  const head =
    approval.status === "pending"
      ? `**Approval needed**: may I run ${call}?`
      : `**${approval.status === "approved" ? "Approved" : "Denied"}**${decider(approval)}: ${call}`;
  return `${head}\n\n${fenced(input)}`;
}

/** Returns who decided, for behind the decision. An id alone is shown where the platform gives no name. */
function decider({ reason, decidedBy, decidedByName }: CardApproval): string {
  if (decidedBy?.type === "system" && reason === "expired") return " (expired)";
  const name = decidedByName ?? (decidedBy?.type === "chat_user" ? decidedBy.id : null);
  return name === null ? "" : ` by ${quoted(name)}`;
}

/** Returns a text as a piece of code, so that nothing in it is formatting. */
function quoted(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}

function cutAt(text: string, unitsMax: number): string {
  return text.length > unitsMax ? `${text.slice(0, unitsMax).toWellFormed()}…` : text;
}

/** Returns a code block whose fence is longer than any in the text, so that the text cannot end it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
