import { recordAudit } from "../kernel/audit/record.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { cleanText } from "../messages/text.ts";
import { decideApproval } from "../sessions/approvals.ts";
import { recordPress } from "./delivery-states.ts";
import { insertInboxMessage } from "./inbox-states.ts";
import type { IncomingMessage, IncomingPress } from "./platform.ts";
import type { ChatConnectionRow } from "./store.ts";

/** Receives a message, once. Returns false when it was known, or its thread has too many that wait. */
export function receiveMessage(
  sql: AnySql,
  connection: Pick<ChatConnectionRow, "id" | "platform">,
  { keys, threadKey, address, place, owner, text }: IncomingMessage,
): Promise<boolean> {
  return insertInboxMessage(sql, {
    connectionId: connection.id,
    keys,
    threadKey,
    address,
    place,
    userId: `${connection.platform}:${owner}`,
    text: cleanText(text),
  });
}

/**
 * Decides the approval whose card was pressed, if this connection posted that card
 * into that channel, and the approval is still open. Returns whether this press
 * decided it: a second press finds it decided.
 */
export function receivePress(
  sql: AnySql,
  connection: Pick<ChatConnectionRow, "id" | "tenantId">,
  { approvalId, approved, channel, pressId, person }: IncomingPress,
  requestId: string,
): Promise<boolean> {
  return tx(sql, async (inner) => {
    const sessionId = await recordPress(inner, { connectionId: connection.id, approvalId, channel, pressId });
    if (sessionId === null) return false;
    const actor = { type: "chat_user", id: person.id } as const;
    try {
      await decideApproval(inner, sessionId, approvalId, {
        approved,
        reason: null,
        decidedBy: actor,
        name: person.name,
      });
      const { tenantId } = connection;
      const decided = { tenantId, actor, resourceId: approvalId, requestId, changes: ["status"] };
      await recordAudit(inner, { ...decided, action: "approval.decide" });
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.reason === "approval_decided" || error.reason === "not_found"))
        return false;
      throw error;
    }
  });
}
