import { useQuery } from "@tanstack/react-query";
import type { LibrarySkill } from "parley/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { AddLibrarySkill } from "./add-skill.tsx";
import { SkillFiles } from "./skill-files.tsx";

/** One skill of the library. Those of the installation are changed by its operator only. */
export function LibrarySkillPage({ skillId }: { readonly skillId: string }) {
  const query = useQuery({
    queryKey: ["skill-library", skillId],
    queryFn: ({ signal }) => parley.skillLibrary.get(skillId, { signal }),
  });
  return (
    <PageFrame
      title={query.data?.name ?? "Skill"}
      parent={{ title: "Skills", to: "/skills" }}
      actions={query.data?.ownerKind === "tenant" && <LibraryActions skill={query.data} />}
    >
      <Await query={query}>
        {(skill) => (
          <>
            <p>{skill.description}</p>
            <Facts
              facts={{
                Id: <CopyableId id={skill.id} />,
                Owner: skill.ownerKind === "platform" ? "the installation" : "yours",
                User: skill.userId || null,
                Created: <When at={skill.createdAt} />,
                Changed: <When at={skill.updatedAt} />,
              }}
            />
            {Object.keys(skill.meta).length > 0 && <JsonView label="Frontmatter" value={skill.meta} />}
            <Section title="Files">
              <SkillFiles files={skill.files} address={null} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function LibraryActions({ skill }: { readonly skill: LibrarySkill }) {
  const [, navigate] = useLocation();
  const [replacing, setReplacing] = useState(false);
  async function remove(): Promise<void> {
    await parley.skillLibrary.delete(skill.id);
    navigate("/skills", { replace: true });
    await queryClient.invalidateQueries({ queryKey: ["skill-library"] });
    toast(`${skill.name} is deleted.`);
  }
  return (
    <>
      <Button onClick={() => setReplacing(true)}>New version</Button>
      <Dialog title={`The next version of ${skill.name}`} open={replacing} onOpenChange={setReplacing}>
        <AddLibrarySkill skillId={skill.id} onDone={() => setReplacing(false)} />
      </Dialog>
      <ConfirmButton label="Delete" title={`Delete ${skill.name}?`} onConfirm={remove}>
        <p>Agents that use it have it no more. While one does, the service may refuse.</p>
      </ConfirmButton>
    </>
  );
}
