/** A turn of a session that left no answer in the transcript, or broke off in the midst of one: `GET /console/api/unanswered`. */
export interface UnansweredTurn<Message> {
  readonly turnId: string;
  readonly status: "failed" | "canceled";
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly acceptedAt: string;
  /** What was asked; null for a regeneration, and where the transcript has the question. */
  readonly message: Message | null;
  /** The message that it comes after; null: it comes before all. */
  readonly afterMessageId: string | null;
}

/** Which turn a message of a transcript is of: `GET /console/api/message-turns`. */
export interface MessageTurn {
  readonly messageId: string;
  /** Null where the turn is gone. */
  readonly turnId: string | null;
  /** When a question was accepted, or an answer stored; RFC 3339. */
  readonly at: string;
}

/** What a turn was asked and what it said, as its page shows it: `GET /console/api/turn-words`. */
export interface TurnWords<Message> {
  readonly question: Message | null;
  readonly answer: Message | null;
  /** More of it is only in the session. */
  readonly isLeftOut: boolean;
}

/** A tool call that waits for a person, for a decision or for the result of a client tool: `GET /console/api/waiting`. */
export interface WaitingCall {
  readonly kind: "approval" | "client_tool";
  readonly sessionId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly turnId: string;
  readonly userId: string;
  /** Null for a client tool. */
  readonly approvalId: string | null;
  readonly toolCallId: string;
  readonly tool: string;
  /** Null where it is too long for a list; the session's own list has it. */
  readonly input: unknown;
  readonly inputIsLeftOut: boolean;
  readonly assistantMessageId: string;
  readonly createdAt: string;
}

/** Who decided an approval: `GET /console/api/decisions`. */
export interface DecidedCall {
  readonly approvalId: string;
  /** When, RFC 3339. */
  readonly at: string;
  /** What kind of actor it was, as in the audit events; null where the approval does not say. */
  readonly byType: string | null;
  /** What it is called, or its id; null where it has neither, as time that ran out. */
  readonly byName: string | null;
}
