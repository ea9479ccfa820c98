import { useQuery } from "@tanstack/react-query";
import type { Skill } from "parley/client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { apiBase } from "../api/fetch.ts";
import { queryClient } from "../api/queries.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { EditFile } from "./edit-file.tsx";
import { SkillFiles } from "./skill-files.tsx";

interface SkillPlace {
  readonly agentId: string;
  readonly skillId: string;
}

/** One skill of an agent: its files, which are edited here. */
export function AgentSkillPage({ agentId, skillId }: SkillPlace) {
  const query = useQuery({
    queryKey: ["skill", skillId],
    queryFn: ({ signal }) => parley.skills.get(agentId, skillId, { signal }),
  });
  return (
    <PageFrame
      title={query.data?.name ?? "Skill"}
      parent={{ title: "Skills", to: `/skills?agentId=${agentId}` }}
      actions={query.data && <DeleteSkill skill={query.data} />}
    >
      <Await query={query}>{(skill) => <SkillView skill={skill} />}</Await>
    </PageFrame>
  );
}

function SkillView({ skill }: { readonly skill: Skill }) {
  const [path, setPath] = useState("SKILL.md");
  const address = `${apiBase}/agents/${skill.agentId}/skills/${skill.id}/files`;
  return (
    <>
      <p>{skill.description}</p>
      <Facts
        facts={{
          Id: <CopyableId id={skill.id} />,
          Agent: <Link href={`/agents/${skill.agentId}`}>{skill.agentId}</Link>,
          Created: <When at={skill.createdAt} />,
          Changed: <When at={skill.updatedAt} />,
        }}
      />
      <Section title="Files">
        <SkillFiles files={skill.files} address={address} chosen={path} onChoose={setPath} />
      </Section>
      <Section title={path}>
        <EditFile key={`${path} ${skill.updatedAt}`} skill={skill} path={path} onDeleted={() => setPath("SKILL.md")} />
      </Section>
    </>
  );
}

function DeleteSkill({ skill }: { readonly skill: Skill }) {
  const [, navigate] = useLocation();
  async function remove(): Promise<void> {
    await parley.skills.delete(skill.agentId, skill.id);
    queryClient.removeQueries({ queryKey: ["skill", skill.id] });
    await queryClient.invalidateQueries({ queryKey: ["skills", skill.agentId] });
    navigate(`/skills?agentId=${skill.agentId}`, { replace: true });
    toast(`${skill.name} is deleted.`);
  }
  return (
    <ConfirmButton label="Delete" title={`Delete ${skill.name}?`} onConfirm={remove}>
      <p>Its files are erased, and the agent cannot use it any more.</p>
    </ConfirmButton>
  );
}
