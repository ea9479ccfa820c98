import { recordAudit } from "../kernel/audit/record.ts";
import type { AnySql, Sql, Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { cleanText } from "../messages/text.ts";
import { decideApproval, decisionEntry } from "../sessions/pause/approvals.ts";
import { recordPress } from "./delivery-states.ts";
import { insertInboxMessage } from "./inbox-states.ts";
import { followMove } from "./move.ts";
import type { Incoming, IncomingMessage, IncomingPress, PressingPerson } from "./platform.ts";
import type { ChatConnectionRow } from "./store.ts";

/** Receives what a verified request holds. Returns false when it changes nothing. */
export async function receiveIncoming(
  sql: Sql,
  connection: ChatConnectionRow,
  incoming: Incoming,
  requestId: string,
): Promise<boolean> {
  switch (incoming.kind) {
    case "message":
      return receiveMessage(sql, connection, incoming);
    case "press":
      return receivePress(sql, connection, incoming, requestId);
    case "moved":
      await followMove(sql, connection.id, incoming.from, incoming.to);
      return true;
  }
}

/** Receives a message, once. Returns false when it was known, or its thread has too many that wait. */
function receiveMessage(
  sql: AnySql,
  connection: Pick<ChatConnectionRow, "id" | "platform">,
  { keys, threadKey, address, place, owner, author, text }: IncomingMessage,
): Promise<boolean> {
  return insertInboxMessage(sql, {
    connectionId: connection.id,
    keys,
    threadKey,
    address,
    place,
    userId: `${connection.platform}:${owner}`,
    author,
    text: cleanText(text),
  });
}

/**
 * Decides the approval whose card was pressed, if this connection posted that card
 * into that channel, this person may decide it, and it is still open. Returns whether
 * this press decided it: a second press finds it decided, and somebody else's is told so.
 */
function receivePress(
  sql: AnySql,
  connection: Pick<ChatConnectionRow, "id" | "tenantId" | "agentId" | "configuration">,
  { approvalId, approved, channel, pressId, person }: IncomingPress,
  requestId: string,
): Promise<boolean> {
  return tx(sql, async (inner) => {
    const refusedPerson = (await mayDecide(inner, connection, approvalId, person)) ? null : (person.id ?? "");
    const press = { connectionId: connection.id, approvalId, channel, pressId, refusedPerson };
    const sessionId = await recordPress(inner, press);
    if (sessionId === null || refusedPerson !== null) return false;
    const actor = { type: "chat_user", id: person.id } as const;
    try {
      await decideApproval(inner, sessionId, approvalId, {
        approved,
        reason: null,
        decidedBy: actor,
        name: person.name,
      });
      const { tenantId, agentId } = connection;
      const decided = { tenantId, agentId, actor, resourceId: approvalId, requestId };
      const entry = decisionEntry({ approved, reason: null });
      await recordAudit(inner, { ...decided, ...entry, action: "approval.decide" });
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.reason === "approval_decided" || error.reason === "not_found"))
        return false;
      throw error;
    }
  });
}

/** Whether a person may decide what a turn asks: who wrote its message, or is named for it. Where nobody of the chat asked and nobody is named, whoever sees the card may. */
async function mayDecide(
  inner: Tx,
  { configuration }: Pick<ChatConnectionRow, "configuration">,
  approvalId: string,
  person: PressingPerson,
): Promise<boolean> {
  const approvers = configuration.approverIds ?? [];
  if (person.id !== null && approvers.includes(person.id)) return true;
  const [asked] = await inner<{ author: string | null }[]>`
    select t.metadata ->> 'chatUserId' as author from approvals a join turns t on t.id = a.turn_id
    where a.id = ${approvalId}`;
  const author = asked?.author ?? null;
  return author === null ? approvers.length === 0 : author === person.id;
}
