import type { ClientTool } from "../../agents/client-tools.ts";
import type { ToolChoice } from "../../model/model-call-request.ts";
import type { ModelSettings } from "../../providers/model-settings.ts";

/** What the request for a turn adds to its agent, for this turn alone. */
export interface CallerOptions {
  /** Follows the agent's instructions; empty: nothing. */
  readonly instructions: string;
  /** Client tools beside the agent's own; they replace one of the same name. */
  readonly tools: readonly ClientTool[];
  readonly toolChoice: ToolChoice;
  /** In place of the agent's; none in options from before there were any. */
  readonly settings?: ModelSettings;
  /** In place of the agent's; left out: the agent's. */
  readonly thinkingLevel?: string;
  /** What whoever asked wants to be told again with the turn. Nothing else reads it. */
  readonly echo: Readonly<Record<string, unknown>>;
}
