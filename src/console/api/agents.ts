import { useQuery } from "@tanstack/react-query";
import type { Agent } from "parley/client";
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

/** The agent that a screen begins with: the newest that can run a turn, or else the newest. */
export function firstUsable<Known extends Pick<Agent, "model" | "status">>(
  agents: readonly Known[],
): Known | undefined {
  return agents.find(({ model, status }) => model !== null && status !== "disabled") ?? agents[0];
}
