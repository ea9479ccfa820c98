/** What a tenant's provider said last of a turn that it failed: `GET /console/api/provider-marks`. */
export interface ProviderMark {
  readonly providerId: string;
  readonly turnId: string;
  readonly at: string;
  readonly model: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string;
  /** Turns of the last hour that it failed, as far as they are among the newest failed ones, and not for what was sent. */
  readonly failedInHour: number;
}

/** What an agent's turns came to in the last 24 hours: `GET /console/api/agent-marks`. */
export interface AgentMark<Time = string> {
  readonly agentId: string;
  readonly turns: number;
  readonly failed: number;
  readonly firstTextMsP50: number | null;
  readonly lastUsedAt: Time;
}

/** Who made a version of an agent, and what its turns came to: `GET /console/api/version-marks`. */
export interface VersionMark {
  readonly version: number;
  /** What the member or the API key is called now, or else who it was; null where that is not known. */
  readonly madeBy: string | null;
  readonly turns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly firstTextMsP50: number | null;
  readonly runMsP50: number | null;
  readonly tokens: number;
}

/** The beginning of what a turn was asked: `GET /console/api/questions`. */
export interface Question {
  readonly turnId: string;
  /** Empty where it holds no text, or is too large to be read for a list. */
  readonly text: string;
}

/** The end of what a turn that waits said last: `GET /console/api/said-before`. */
export interface SaidBefore {
  readonly turnId: string;
  readonly text: string;
}
