import { useQuery } from "@tanstack/react-query";
import type { Agent } from "parley/client";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button, ButtonLink } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { type AgentForm, agentOfForm, formOfAgent } from "./agent-form.ts";
import { AgentSettings } from "./agent-settings.tsx";
import { AgentVersions } from "./agent-versions.tsx";
import { readAgentAnew } from "./read-agent-anew.ts";

/** One agent: its settings, and the versions that it had. */
export function AgentPage({ agentId }: { readonly agentId: string }) {
  const query = useQuery({
    queryKey: ["agent", agentId],
    queryFn: ({ signal }) => parley.agents.get(agentId, { signal }),
  });
  const agent = query.data;
  return (
    <PageFrame
      title={agent?.name ?? "Agent"}
      parent={{ title: "Agents", to: "/agents" }}
      mark={agent && <StatusBadge status={agent.status} />}
      actions={agent && <AgentActions agent={agent} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            <Facts
              facts={{
                Id: <CopyableId id={known.id} />,
                Version: known.version,
                Workspace: known.workspaceId && <CopyableId id={known.workspaceId} />,
                Created: <When at={known.createdAt} />,
                Changed: <When at={known.updatedAt} />,
              }}
            />
            <Section title="Settings">
              <Settings key={known.version} agent={known} />
            </Section>
            <Section title="Versions">
              <AgentVersions agent={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function Settings({ agent }: { readonly agent: Agent }) {
  const form = useApiForm<AgentForm>(formOfAgent(agent), async (values) => {
    const saved = await parley.agents.update(agent.id, agentOfForm(values));
    await readAgentAnew(agent.id);
    toast(`Version ${saved.version} is saved.`);
  });
  const beside = form.isChanged && <Button onClick={() => form.reset(formOfAgent(agent))}>Discard changes</Button>;
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged} beside={beside}>
      <AgentSettings form={form} />
    </ApiForm>
  );
}

function AgentActions({ agent }: { readonly agent: Agent }) {
  const [, navigate] = useLocation();
  async function enable(): Promise<void> {
    await parley.agents.enable(agent.id);
    await readAgentAnew(agent.id);
    toast(`${agent.name} is enabled.`);
  }
  async function disable(): Promise<void> {
    await parley.agents.disable(agent.id);
    await readAgentAnew(agent.id);
    toast(`${agent.name} is disabled.`);
  }
  async function remove(): Promise<void> {
    await parley.agents.delete(agent.id);
    queryClient.removeQueries({ queryKey: ["agent", agent.id] });
    await queryClient.invalidateQueries({ queryKey: ["agents"] });
    navigate("/agents", { replace: true });
    toast(`${agent.name} is deleted.`);
  }
  return (
    <>
      <ButtonLink to={`/playground?agent=${agent.id}`}>Open in playground</ButtonLink>
      {agent.status === "disabled" ? (
        <Button onClick={() => void enable().catch(toastError)}>Enable</Button>
      ) : (
        <ConfirmButton label="Disable" title={`Disable ${agent.name}?`} tone="plain" onConfirm={disable}>
          <p>It runs no turn until it is enabled again. Turns that run now go on.</p>
        </ConfirmButton>
      )}
      <ConfirmButton label="Delete" title={`Delete ${agent.name}?`} onConfirm={remove}>
        <p>
          Its sessions, memories, skills, tasks and chat connections are erased with it, and cannot be brought back. Its
          usage stays.
        </p>
      </ConfirmButton>
    </>
  );
}
