import type { Session } from "parley/client";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";

type Row = Session & { readonly agentId: string };

/** Sessions, the one that was used last first. */
export function SessionList() {
  const [filters, setFilters] = useFilters("agentId", "userId");
  const { agentId, userId } = filters;
  const list = useCursorList<Row>({
    key: ["sessions", filters],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(cursor !== undefined && { cursor }), ...(userId !== undefined && { userId }) };
      if (agentId === undefined) {
        const { data, nextCursor } = await parley.sessions.listLatest(query, { signal });
        return { rows: data, nextCursor };
      }
      const { data, nextCursor } = await parley.sessions.list(agentId, query, { signal });
      return { rows: data.map((session) => ({ ...session, agentId })), nextCursor };
    },
    refreshMs: 10_000,
  });
  const nameOf = useAgentName();
  const columns: readonly Column<Row>[] = [
    {
      name: "Session",
      cell: ({ id, agentId: of, lastMessagePreview }) => (
        <Link href={`/sessions/${of}/${id}`} className="row-link">
          {lastMessagePreview || id}
        </Link>
      ),
    },
    { name: "Agent", cell: (row) => <Link href={`/agents/${row.agentId}`}>{nameOf(row.agentId)}</Link> },
    { name: "User", cell: (row) => row.userId || <span className="faint">–</span> },
    { name: "Version", cell: ({ agentVersion }) => agentVersion ?? "latest", numeric: true, wideOnly: true },
    { name: "Messages", cell: ({ messageCount }) => messageCount, numeric: true },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
  return (
    <PageFrame title="Sessions">
      <FilterBar>
        <AgentPicker value={agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
        <TextFilter label="User" value={userId} onChange={(value) => setFilters({ userId: value })} />
      </FilterBar>
      <ListView
        list={list}
        caption="Sessions"
        columns={columns}
        rowKey={({ id }) => id}
        empty={agentId || userId ? "No session matches." : "There is no session yet. The playground begins one."}
      />
    </PageFrame>
  );
}
