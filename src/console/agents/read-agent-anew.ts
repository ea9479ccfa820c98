import { readVersionMarksAnew } from "../api/marks.ts";
import { queryClient } from "../api/queries.ts";

/** Reads an agent and the lists with it again. */
export async function readAgentAnew(agentId: string): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ["agents"] }),
    queryClient.invalidateQueries({ queryKey: ["agent-versions", agentId] }),
    queryClient.invalidateQueries({ queryKey: ["agent", agentId] }),
    readVersionMarksAnew(agentId),
  ]);
}
