import { useLocation } from "wouter";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { type AgentForm, agentOfForm, newAgentLike } from "./agent-form.ts";
import { AgentSettings } from "./agent-settings.tsx";

/** Makes an agent. */
export function NewAgentPage() {
  const agents = useAgents();
  const [{ provider }] = useFilters("provider");
  return (
    <PageFrame title="New agent" parent={{ title: "Agents", to: "/agents" }}>
      <Await query={agents}>{(known) => <NewAgentSettings initial={newAgentLike(known.agents, provider)} />}</Await>
    </PageFrame>
  );
}

function NewAgentSettings({ initial }: { readonly initial: AgentForm }) {
  const [, navigate] = useLocation();
  const form = useApiForm(initial, async (values) => {
    const agent = await parley.agents.create(agentOfForm(values));
    await queryClient.invalidateQueries({ queryKey: ["agents"] });
    toast(`${agent.name} is created.`);
    navigate(`/agents/${agent.id}`, { replace: true });
  });
  return (
    <Section title="Settings">
      <ApiForm form={form} action="Create">
        <AgentSettings form={form} />
      </ApiForm>
    </Section>
  );
}
