import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { readConsole } from "../api/fetch.ts";
import type { Column } from "../parts/data-table.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { TitleLine } from "../parts/title-line.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";

/** A session in which something was said, of `GET /console/api/search`. */
interface FoundSession {
  readonly sessionId: string;
  readonly agentId: string;
  readonly userId: string;
  readonly title: string;
  readonly updatedAt: string;
}

/** Fewer characters are in nearly every session. */
const wordsMin = 3;
const wordsMax = 200;

interface FoundSessionsProps {
  readonly words: string;
  readonly agentId: string | undefined;
  readonly userId: string | undefined;
}

/** The sessions in which these words were said, or the one with this id. */
export function FoundSessions({ words, agentId, userId }: FoundSessionsProps) {
  const nameOf = useAgentName();
  const asked = words.slice(0, wordsMax);
  const found = useQuery({
    queryKey: ["search", asked],
    queryFn: ({ signal }) =>
      readConsole<{ data: readonly FoundSession[] }>(`/console/api/search?words=${encodeURIComponent(asked)}`, {
        signal,
      }),
    enabled: asked.length >= wordsMin,
  });
  if (asked.length < wordsMin) return <Empty>Type three characters or more.</Empty>;
  const columns: readonly Column<FoundSession>[] = [
    {
      name: "Session",
      cell: (row) => (
        <TitleLine to={`/sessions/${row.agentId}/${row.sessionId}`} id={row.sessionId} title={row.title} />
      ),
    },
    { name: "Agent", cell: (row) => <Link href={`/agents/${row.agentId}`}>{nameOf(row.agentId)}</Link> },
    { name: "User", cell: (row) => <UserLink userId={row.userId} /> },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
  return (
    <Await query={found}>
      {({ data }) => {
        const rows = data.filter(
          (row) =>
            (agentId === undefined || row.agentId === agentId) && (userId === undefined || row.userId === userId),
        );
        return (
          <>
            {rows.length === 0 ? (
              <Empty>No session matches.</Empty>
            ) : (
              <DataTable
                caption={`Sessions with “${asked}”`}
                columns={columns}
                rows={rows}
                rowKey={({ sessionId }) => sessionId}
              />
            )}
            <p className="hint">
              Searched are the newest 50 messages of the 2,000 sessions that were used last; 50 are shown.
            </p>
          </>
        );
      }}
    </Await>
  );
}
