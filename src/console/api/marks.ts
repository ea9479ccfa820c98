import { useQuery } from "@tanstack/react-query";
import type { AgentMark, ProviderMark, VersionMark } from "../../console-shapes/marks.ts";
import { readConsole } from "./fetch.ts";
import { queryClient } from "./queries.ts";

/** How often marks are read anew, in ms. */
const refreshMs = 30_000;

const versionMarks = (agentId: string) => `version-marks?agentId=${agentId}`;
const keyOf = (path: string) => ["marks", path];

function useMarks<Mark>(path: string) {
  return useQuery({
    queryKey: keyOf(path),
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
  return useMarks<VersionMark>(versionMarks(agentId));
}

/** Reads the marks of an agent's versions again: one that was just made has its maker among them. */
export function readVersionMarksAnew(agentId: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: keyOf(versionMarks(agentId)) });
}
