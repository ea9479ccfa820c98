import { useQuery } from "@tanstack/react-query";
import type { LibrarySkillSummary, SkillSummary } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { firstUsable, useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import { AddLibrarySkill, AddSkill } from "./add-skill.tsx";

/** One agent's skills, and the library. */
export function SkillOverview() {
  const [filters, setFilters] = useFilters("agentId");
  const agents = useAgents();
  const known = agents.data?.agents ?? [];
  const agentId = filters.agentId ?? firstUsable(known)?.id;
  const [adding, setAdding] = useState<"agent" | "library" | null>(null);
  const close = () => setAdding(null);
  return (
    <PageFrame title="Skills">
      <Section
        title="Of an agent"
        actions={
          <Button tone="primary" disabled={agentId === undefined} onClick={() => setAdding("agent")}>
            New skill
          </Button>
        }
      >
        <FilterBar>
          <AgentPicker value={agentId} onChange={(chosen) => setFilters({ agentId: chosen })} />
        </FilterBar>
        {agentId === undefined ? (
          agents.isSuccess && <Empty>There is no agent yet.</Empty>
        ) : (
          <AgentSkills agentId={agentId} />
        )}
      </Section>
      <Section title="Library" actions={<Button onClick={() => setAdding("library")}>Add to the library</Button>}>
        <Library />
      </Section>
      <Dialog title="New skill" open={adding === "agent"} onOpenChange={close}>
        {agentId !== undefined && <AddSkill agentId={agentId} onDone={close} />}
      </Dialog>
      <Dialog title="Add to the library" open={adding === "library"} onOpenChange={close}>
        <AddLibrarySkill skillId={null} onDone={close} />
      </Dialog>
    </PageFrame>
  );
}

const agentColumns: readonly Column<SkillSummary>[] = [
  {
    name: "Name",
    cell: ({ id, agentId, name }) => (
      <Link href={`/skills/${agentId}/${id}`} className="row-link">
        {name}
      </Link>
    ),
  },
  { name: "Description", cell: ({ description }) => <span className="memory-text">{description}</span> },
  { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

function AgentSkills({ agentId }: { readonly agentId: string }) {
  const list = useCursorList<SkillSummary>({
    key: ["skills", agentId],
    load: async (cursor, signal) => {
      const { data, nextCursor } = await parley.skills.list(
        agentId,
        { limit: 50, ...(cursor && { cursor }) },
        { signal },
      );
      return { rows: data, nextCursor };
    },
  });
  return (
    <ListView
      list={list}
      caption="Skills of the agent"
      columns={agentColumns}
      rowKey={({ id }) => id}
      empty="This agent has no skill of its own yet."
    />
  );
}

const libraryColumns: readonly Column<LibrarySkillSummary>[] = [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <Link href={`/skills/library/${id}`} className="row-link">
        {name}
      </Link>
    ),
  },
  { name: "Description", cell: ({ description }) => <span className="memory-text">{description}</span> },
  {
    name: "Owner",
    cell: ({ ownerKind }) => <Badge>{ownerKind === "platform" ? "installation" : "yours"}</Badge>,
  },
  { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

function Library() {
  const query = useQuery({
    queryKey: ["skill-library"],
    queryFn: ({ signal }) => parley.skillLibrary.list({}, { signal }),
  });
  return (
    <Await query={query}>
      {({ skills }) =>
        skills.length === 0 ? (
          <Empty>The library is empty.</Empty>
        ) : (
          <DataTable caption="Library" columns={libraryColumns} rows={skills} rowKey={({ id }) => id} />
        )
      }
    </Await>
  );
}
