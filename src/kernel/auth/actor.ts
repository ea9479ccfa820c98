/** The kinds of those who do something. */
export const actorTypes = ["api_key", "member", "dashboard_user", "operator", "chat_user", "system"] as const;

/** Who did something: a credential, a person, or the service itself. */
export interface AuditActor {
  readonly type: (typeof actorTypes)[number];
  /** The API key's or the member's id, the dashboard token's `authUserId`, the chat platform's id of a person or the user id of a client token, the operator's account; null when it is not known. */
  readonly id: string | null;
}

/** For what nobody asked for at that moment: an expiry, the end of what it belonged to. */
export const systemActor: AuditActor = { type: "system", id: "parley" };
