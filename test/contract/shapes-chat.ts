/** A message on its way to a chat app: docs/decisions/chat.md. */
export const delivery = {
  id: "cd_",
  kind: "=reply,approval_card",
  status: "=pending,confirmed,failed,ambiguous",
  attempt: "int",
  credentialVersion: "int",
  representation: "=native,text",
  diagnostic: "text?",
  receipts: "[#Receipt]",
  sessionId: "ss_",
  messageId: "any",
  approvalId: "apr_?",
  threadId: "text",
  createdAt: "time",
  updatedAt: "time",
} as const;
