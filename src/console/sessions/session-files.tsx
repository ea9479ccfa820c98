import { useQuery } from "@tanstack/react-query";
import { parley } from "../api/client.ts";
import { Section } from "../parts/page.tsx";
import { WorkspaceFiles } from "../parts/workspace-files.tsx";

/** The files of the agent's workspace, where it has one. */
export function SessionFiles({ agentId }: { readonly agentId: string }) {
  const agent = useQuery({
    queryKey: ["agent", agentId],
    queryFn: ({ signal }) => parley.agents.get(agentId, { signal }),
  });
  const workspaceId = agent.data?.workspaceId;
  if (!workspaceId) return null;
  return (
    <Section title="Files">
      <WorkspaceFiles workspaceId={workspaceId} empty="The agent's workspace holds no file." />
    </Section>
  );
}
