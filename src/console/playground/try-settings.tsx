import { useQuery } from "@tanstack/react-query";
import type { Agent, AgentVersion } from "parley/client";
import { type RefObject, useEffect, useRef } from "react";
import { formOfAgent, type VersionForm, versionOfForm } from "../agents/agent-form.ts";
import { ChangeNoteField, TriedFields } from "../agents/agent-settings.tsx";
import { readAgentAnew } from "../agents/read-agent-anew.ts";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { isDraft, versionText } from "../api/versions.ts";
import { Button } from "../parts/button.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";

/** Settings that are changed here and not saved. */
export interface TriedSettings {
  readonly isChanged: boolean;
  /** Makes them a draft and returns its version; null where something is wrong with them, which the form says. */
  makeDraft(): Promise<number | null>;
}

interface TrySettingsProps {
  readonly agentId: string;
  /** What the conversation runs on; null: the agent's latest version. */
  readonly version: number | null;
  /** Holds what is changed, for who sends. */
  readonly tried: RefObject<TriedSettings | null>;
}

/** The settings of the version that is spoken with, to be changed and tried before they are saved. */
export function TrySettings({ agentId, version, tried }: TrySettingsProps) {
  const agent = useQuery({
    queryKey: ["agent", agentId],
    queryFn: ({ signal }) => parley.agents.get(agentId, { signal }),
  });
  const pinned = useQuery({
    queryKey: ["agent-version", agentId, version],
    queryFn: ({ signal }) => parley.agents.getVersion(agentId, String(version), { signal }),
    enabled: version !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Await query={agent}>
      {(known) =>
        version === null || version === known.version ? (
          <TryForm key={known.version} agent={known} base={known} tried={tried} />
        ) : (
          <Await query={pinned}>
            {(base) => <TryForm key={`${agentId} ${base.version}`} agent={known} base={base} tried={tried} />}
          </Await>
        )
      }
    </Await>
  );
}

interface TryFormProps extends Pick<TrySettingsProps, "tried"> {
  readonly agent: Agent;
  readonly base: Agent | AgentVersion;
}

function TryForm({ agent, base, tried }: TryFormProps) {
  const initial: VersionForm = { ...formOfAgent(base), changeNote: "" };
  const asDraft = useRef(false);
  const made = useRef<number | null>(null);
  const form = useApiForm<VersionForm>(initial, async (values) => {
    const body = versionOfForm(values);
    if (asDraft.current) {
      const draft = await parley.agents.createDraft(agent.id, body);
      queryClient.setQueryData(["agent-version", agent.id, draft.version], draft);
      made.current = draft.version;
      return;
    }
    const saved = await parley.agents.update(agent.id, body);
    await readAgentAnew(agent.id);
    toast(`Version ${saved.version} is saved.`);
  });
  const isChanged = JSON.stringify({ ...form.values, changeNote: "" }) !== JSON.stringify(initial);
  useEffect(() => {
    tried.current = {
      isChanged,
      async makeDraft() {
        made.current = null;
        asDraft.current = true;
        await form.submit();
        asDraft.current = false;
        return made.current;
      },
    };
    return () => {
      tried.current = null;
    };
  });
  const isSaved = !isChanged && JSON.stringify(formOfAgent(base)) === JSON.stringify(formOfAgent(agent));
  return (
    <ApiForm
      form={form}
      action="Save as next version"
      disabled={isSaved}
      beside={isChanged && <Button onClick={() => form.reset(initial)}>Discard changes</Button>}
    >
      <p className="hint" role="status">
        {whereFrom(isSaved ? agent.version : base.version, isChanged, isSaved)}
      </p>
      <TriedFields form={form} />
      {!isSaved && <ChangeNoteField form={form} />}
    </ApiForm>
  );
}

function whereFrom(version: number, isChanged: boolean, isSaved: boolean): string {
  if (isChanged) return "Changed, not saved: Send and Regenerate begin a new conversation with these settings.";
  if (isSaved) return `Those of version ${version}. Change them to try them; the agent stays as it is.`;
  const words = versionText(version);
  return isDraft(version) ? `This conversation runs on ${words}. The agent does not.` : `Those of version ${words}.`;
}
