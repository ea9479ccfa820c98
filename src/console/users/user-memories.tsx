import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { Await, Empty } from "../parts/states.tsx";

/** Agents whose memories are looked through, and memories of each that are shown. */
const agentsMax = 50;
const shownMax = 20;

/** What agents with the tool `memory` remember of a user. */
export function UserMemories({ userId }: { readonly userId: string }) {
  const agents = (useAgents().data?.agents ?? []).filter(({ tools }) => tools.includes("memory")).slice(0, agentsMax);
  const query = useQuery({
    queryKey: ["memories", "of-user", userId, agents.map(({ id }) => id).join()],
    queryFn: ({ signal }) =>
      Promise.all(
        agents.map(async (agent) => {
          const { data } = await parley.memories.list(agent.id, { userId, limit: shownMax }, { signal });
          return { agent, memories: data.filter((memory) => memory.userId === userId) };
        }),
      ),
    enabled: agents.length > 0,
  });
  if (agents.length === 0) return <Empty>No agent has the tool memory.</Empty>;
  return (
    <Await query={query}>
      {(found) => {
        const known = found.filter(({ memories }) => memories.length > 0);
        if (known.length === 0) return <Empty>Nothing.</Empty>;
        return (
          <ul className="remembered">
            {known.map(({ agent, memories }) => (
              <li key={agent.id}>
                <Link href={`/memory?agentId=${agent.id}&userId=${encodeURIComponent(userId)}`}>{agent.name}</Link>
                <ul>
                  {memories.map(({ id, text }) => (
                    <li key={id} className="memory-text" dir="auto">
                      {text}
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        );
      }}
    </Await>
  );
}
