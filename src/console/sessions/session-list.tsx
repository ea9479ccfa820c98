import type { Session } from "parley/client";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { useSessionMarks } from "../api/questions.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { countText } from "../parts/moment.ts";
import { PageFrame } from "../parts/page.tsx";
import { TitleLine } from "../parts/title-line.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { FoundSessions } from "./found-sessions.tsx";

type Row = Session & { readonly agentId: string };

/** Sessions, the one that was used last first. */
export function SessionList() {
  const [filters, setFilters] = useFilters("agentId", "userId", "words");
  const { agentId, userId, words } = filters;
  const list = useCursorList<Row>({
    key: ["sessions", agentId, userId],
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
  const markOf = useSessionMarks(list.rows);
  return (
    <PageFrame title="Sessions" actionsNeed="reader" actions={<CopyLink />}>
      <FilterBar keeps>
        <TextFilter label="Search" value={words} onChange={(value) => setFilters({ words: value })} />
        <AgentPicker value={agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
        <TextFilter label="User" value={userId} onChange={(value) => setFilters({ userId: value })} />
      </FilterBar>
      {words !== undefined ? (
        <FoundSessions words={words} agentId={agentId} userId={userId} />
      ) : (
        <ListView
          list={list}
          caption="Sessions"
          columns={columnsOf(nameOf, markOf)}
          rowKey={({ id }) => id}
          empty={agentId || userId ? "No session matches." : "There is no session yet. The playground begins one."}
        />
      )}
    </PageFrame>
  );
}

function columnsOf(
  nameOf: (agentId: string) => string,
  markOf: ReturnType<typeof useSessionMarks>,
): readonly Column<Row>[] {
  return [
    {
      name: "Session",
      cell: ({ id, agentId, firstMessagePreview, lastMessagePreview }) => (
        <TitleLine to={`/sessions/${agentId}/${id}`} id={id} title={firstMessagePreview || lastMessagePreview} />
      ),
    },
    {
      name: "Last turn",
      cell: (row) => {
        const mark = markOf(row);
        return mark && <StatusBadge status={mark.status} text={mark.errorCode ?? mark.status} />;
      },
    },
    { name: "Agent", cell: (row) => <Link href={`/agents/${row.agentId}`}>{nameOf(row.agentId)}</Link> },
    { name: "User", cell: (row) => <UserLink userId={row.userId} /> },
    { name: "Messages", cell: ({ messageCount }) => messageCount, numeric: true, wideOnly: true },
    {
      name: "Tokens",
      cell: (row) => {
        const mark = markOf(row);
        return mark && `${mark.isPartial ? "≥ " : ""}${countText(mark.tokens)}`;
      },
      numeric: true,
      wideOnly: true,
    },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
}
