import { useQuery } from "@tanstack/react-query";
import type { Agent } from "parley/client";
import { useId } from "react";
import { parley } from "../api/client.ts";
import { errorText } from "../api/queries.ts";
import { versionText } from "../api/versions.ts";
import { Picker } from "../parts/picker.tsx";

interface AgentChoiceProps {
  readonly agents: readonly Agent[];
  readonly agentId: string | null;
  onChange(agentId: string): void;
}

/** Which agent to speak with. */
export function AgentChoice({ agents, agentId, onChange }: AgentChoiceProps) {
  // The list has the newest 1,000; an address may name another one.
  const isListed = agents.some(({ id }) => id === agentId);
  const other = useQuery({
    queryKey: ["agent", agentId],
    queryFn: ({ signal }) => parley.agents.get(agentId as string, { signal }),
    enabled: agentId !== null && !isListed,
  });
  const known = isListed || !other.data ? agents : [other.data, ...agents];
  const agent = known.find(({ id }) => id === agentId);
  return (
    <div className="agent-choice">
      <Picker
        label="Agent"
        value={agentId}
        onChange={(chosen) => chosen !== null && chosen !== agentId && onChange(chosen)}
        choices={known.map(({ id, name, status, model }) => ({
          value: id,
          label: name,
          detail: status === "disabled" ? "disabled" : (model ?? "no model"),
        }))}
      />
      {agent?.status === "disabled" && <p className="fault">This agent is disabled: it runs no turn.</p>}
      {agent !== undefined && agent.model === null && <p className="fault">This agent has no model.</p>}
      {other.error !== null && <p className="fault">{errorText(other.error)}</p>}
    </div>
  );
}

interface VersionChoiceProps {
  readonly agentId: string;
  readonly version: number | null;
  onChange(version: string | null): void;
}

/** Which version of the agent: a session stays with the one that it began with. */
export function VersionChoice({ agentId, version, onChange }: VersionChoiceProps) {
  const id = useId();
  const versions = useQuery({
    queryKey: ["agent-versions", agentId],
    queryFn: ({ signal }) => parley.agents.listVersions(agentId, { limit: 100 }, { signal }),
  });
  const known = versions.data?.data ?? [];
  const isListed = version === null || known.some((each) => each.version === version);
  return (
    <div className="field">
      <label htmlFor={id}>Version</label>
      <select id={id} value={version ?? ""} onChange={(event) => onChange(event.target.value || null)}>
        <option value="">Latest{known[0] && ` (${known[0].version})`}</option>
        {!isListed && <option value={version}>{versionText(version)}</option>}
        {known.map((each) => (
          <option key={each.version} value={each.version}>
            {each.version} · {each.model ?? "no model"}
          </option>
        ))}
      </select>
    </div>
  );
}
