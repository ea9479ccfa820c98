import { useQuery } from "@tanstack/react-query";
import { parley } from "./client.ts";

/** The agents, for choices and names: one reading, which all screens share. */
export function useAgents(enabled = true) {
  return useQuery({
    queryKey: ["agents", "all"],
    queryFn: ({ signal }) => parley.agents.list({}, { signal }),
    enabled,
  });
}

/** What an agent is called; its id while that is not known. */
export function useAgentName(): (agentId: string) => string {
  const { data } = useAgents();
  return (agentId) => data?.agents.find(({ id }) => id === agentId)?.name ?? agentId;
}
