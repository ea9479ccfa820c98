import { useQuery } from "@tanstack/react-query";
import type { AgentMark, ProviderMark, VersionMark } from "../../console-shapes/marks.ts";
import { readConsole } from "./fetch.ts";

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

/** Who made an agent's versions, and what their turns came to. */
export function useVersionMarks(agentId: string) {
  return useMarks<VersionMark>(`version-marks?agentId=${agentId}`);
}
