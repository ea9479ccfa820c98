import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { PageFrame, Section } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { type AgentForm, agentOfForm, newAgent } from "./agent-form.ts";
import { AgentSettings } from "./agent-settings.tsx";

/** Makes an agent. */
export function NewAgentPage() {
  const [, navigate] = useLocation();
  const form = useApiForm<AgentForm>(newAgent, async (values) => {
    const agent = await parley.agents.create(agentOfForm(values));
    await queryClient.invalidateQueries({ queryKey: ["agents"] });
    toast(`${agent.name} is created.`);
    navigate(`/agents/${agent.id}`, { replace: true });
  });
  return (
    <PageFrame title="New agent" parent={{ title: "Agents", to: "/agents" }}>
      <Section title="Settings">
        <ApiForm form={form} action="Create">
          <AgentSettings form={form} />
        </ApiForm>
      </Section>
    </PageFrame>
  );
}
