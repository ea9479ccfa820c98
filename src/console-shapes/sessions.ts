/** What became of a session's last turn, and what its newest turns used. */
export interface SessionMark {
  readonly status: "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";
  readonly errorCode: string | null;
  readonly tokens: number;
  /** Whether there are older turns, whose tokens are left out. */
  readonly isPartial: boolean;
}

/** A session as lists show it, also one in which nothing was answered yet: `GET /console/api/session-list`, `/search`. */
export interface ListedSession {
  readonly id: string;
  readonly agentId: string;
  readonly messageCount: number;
  readonly firstMessagePreview: string;
  readonly lastMessagePreview: string;
  readonly userId: string;
  readonly updatedAt: string;
  /** Null where it has no turn, as after a fork. */
  readonly mark: SessionMark | null;
}

/** Which first steps a tenant has done: `GET /console/api/first-steps`. */
export interface StepsDone {
  /** A provider that it added, whose model has said something. */
  readonly provider: boolean;
  /** An agent with a model. */
  readonly agent: boolean;
  /** A turn that was answered. */
  readonly turn: boolean;
  /** A key that a program used: another one than that of who asks, whose use is the page's. */
  readonly key: boolean;
}
