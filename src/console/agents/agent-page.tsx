import { useQuery } from "@tanstack/react-query";
import type { Agent } from "parley/client";
import { Link, useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { useAgentMarks } from "../api/marks.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button, ButtonLink } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { WorkspaceFiles } from "../parts/workspace-files.tsx";
import { AgentActivity } from "./agent-activity.tsx";
import { formOfAgent, type VersionForm, versionOfForm } from "./agent-form.ts";
import { AgentSettings, ChangeNoteField } from "./agent-settings.tsx";
import { AgentVersions } from "./agent-versions.tsx";
import { readAgentAnew } from "./read-agent-anew.ts";

/** One agent: what its turns came to, and a part of it. */
export function AgentPage({ agentId, part }: { readonly agentId: string; readonly part: string }) {
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
            <AgentNumbers agent={known} />
            <Tabs
              label="Parts of the agent"
              tabs={[
                ...tabs.map(({ name, path }) => ({ name, to: `/agents/${agentId}${path}` })),
                { name: "Memory", to: `/memory?agentId=${agentId}` },
                { name: "Skills", to: `/skills?agentId=${agentId}` },
              ]}
            />
            <AgentPart agent={known} part={part} />
          </>
        )}
      </Await>
    </PageFrame>
  );
}

/** The parts of an agent's page, each at its own address. */
const tabs = [
  { name: "Settings", path: "" },
  { name: "Activity", path: "/activity" },
  { name: "Versions", path: "/versions" },
  { name: "Files", path: "/files" },
] as const;

/** What the last 24 hours came to, and what it is. */
function AgentNumbers({ agent }: { readonly agent: Agent }) {
  const mark = useAgentMarks().data?.data.find(({ agentId }) => agentId === agent.id);
  const { turns = 0, failed = 0 } = mark ?? {};
  const failedText =
    failed === 0 ? "none" : `${countText(failed)} (${Math.max(1, Math.round((100 * failed) / turns))} %)`;
  return (
    <Facts
      facts={{
        "Turns, 24 h": <Link href={`/turns?agentId=${agent.id}&since=day`}>{countText(turns)}</Link>,
        Failed: <Link href={`/turns?agentId=${agent.id}&status=failed&since=day`}>{failedText}</Link>,
        "First text, median": mark?.firstTextMsP50 == null ? null : durationText(mark.firstTextMsP50),
        "Last used": <When at={mark?.lastUsedAt} />,
        Version: agent.version,
        Changed: <When at={agent.updatedAt} />,
        Id: <CopyableId id={agent.id} />,
      }}
    />
  );
}

function AgentPart({ agent, part }: { readonly agent: Agent; readonly part: string }) {
  switch (part) {
    case "activity":
      return <AgentActivity agentId={agent.id} />;
    case "versions":
      return (
        <Section title="Versions">
          <AgentVersions agent={agent} />
        </Section>
      );
    case "files":
      return agent.workspaceId === null ? (
        <Empty>This agent has no workspace. The tool “workspace” in its settings gives it one.</Empty>
      ) : (
        <Section
          title="Files"
          actionsNeed="reader"
          actions={<ButtonLink to={`/workspaces/${agent.workspaceId}`}>Open workspace</ButtonLink>}
        >
          <WorkspaceFiles workspaceId={agent.workspaceId} empty="The agent's workspace holds no file." />
        </Section>
      );
    default:
      return (
        <Section title="Settings">
          <Settings key={agent.version} agent={agent} />
        </Section>
      );
  }
}

function Settings({ agent }: { readonly agent: Agent }) {
  const initial = { ...formOfAgent(agent), changeNote: "" };
  const form = useApiForm<VersionForm>(initial, async (values) => {
    const saved = await parley.agents.update(agent.id, versionOfForm(values));
    await readAgentAnew(agent.id);
    toast(`Version ${saved.version} is saved.`);
  });
  const beside = form.isChanged && <Button onClick={() => form.reset(initial)}>Discard changes</Button>;
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged} beside={beside}>
      <AgentSettings form={form} />
      {form.isChanged && <ChangeNoteField form={form} />}
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
