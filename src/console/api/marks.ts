import { useQuery } from "@tanstack/react-query";
import { readConsole } from "./fetch.ts";

/** The last failure of a provider, of `GET /console/api/provider-marks`. */
export interface ProviderMark {
  readonly providerId: string;
  readonly turnId: string;
  readonly at: string;
  readonly model: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string;
}

/** What an agent's turns of the last 24 hours came to, of `GET /console/api/agent-marks`. */
export interface AgentMark {
  readonly agentId: string;
  readonly turns: number;
  readonly failed: number;
  readonly firstTextMsP50: number | null;
  readonly lastUsedAt: string;
}

/** What the turns of a version came to, of `GET /console/api/version-marks`. */
export interface VersionMark {
  readonly version: number;
  readonly turns: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly firstTextMsP50: number | null;
  readonly runMsP50: number | null;
  readonly tokens: number;
}

/** How often marks are read anew, in ms. */
const refreshMs = 30_000;

function useMarks<Mark>(path: string) {
  return useQuery({
    queryKey: ["marks", path],
    queryFn: ({ signal }) => readConsole<{ data: readonly Mark[] }>(`/console/api/${path}`, { signal }),
    refetchInterval: refreshMs,
  });
}

/** The last failures of the providers. */
export function useProviderMarks() {
  return useMarks<ProviderMark>("provider-marks");
}

/** What the agents' turns of the last 24 hours came to. */
export function useAgentMarks() {
  return useMarks<AgentMark>("agent-marks");
}

/** What the turns of an agent's versions came to. */
export function useVersionMarks(agentId: string) {
  return useMarks<VersionMark>(`version-marks?agentId=${agentId}`);
}
