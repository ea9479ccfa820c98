import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { ListedSession } from "../../console-shapes/sessions.ts";
import { useAgentName } from "../api/agents.ts";
import { readConsole } from "../api/fetch.ts";
import type { Filters } from "../api/filters.ts";
import { type SessionQuestion, searchOf } from "../api/session-list.ts";
import { DataTable } from "../parts/data-table.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { sessionColumns } from "./session-columns.tsx";

/** Fewer characters are in nearly every session. */
const wordsMin = 3;
const wordsMax = 200;

interface FoundSessionsProps {
  readonly words: string;
  /** The other filters, as they stand in the address. */
  readonly filters: Filters<string>;
  /** What they ask for, as of now. */
  ask(): SessionQuestion;
}

/** The sessions in which these words were said or asked, or the one with this id. */
export function FoundSessions({ words, filters, ask }: FoundSessionsProps) {
  const nameOf = useAgentName();
  const asked = words.slice(0, wordsMax);
  const found = useQuery({
    queryKey: ["search", asked, filters],
    queryFn: ({ signal }) =>
      readConsole<{ data: readonly ListedSession[] }>(`/console/api/search?${searchOf({ words: asked, ...ask() })}`, {
        signal,
      }),
    enabled: asked.length >= wordsMin,
  });
  if (asked.length < wordsMin) return <Empty>Type three characters or more.</Empty>;
  const columns = sessionColumns(
    [
      { name: "Agent", cell: (row) => <Link href={`/agents/${row.agentId}`}>{nameOf(row.agentId)}</Link> },
      { name: "User", cell: (row) => <UserLink userId={row.userId} /> },
    ],
    asked,
  );
  return (
    <Await query={found}>
      {({ data }) => (
        <>
          {data.length === 0 ? (
            <Empty>No session matches.</Empty>
          ) : (
            <DataTable caption={`Sessions with “${asked}”`} columns={columns} rows={data} rowKey={({ id }) => id} />
          )}
          <p className="hint">
            Searched are the newest 50 messages of the 2,000 sessions used last, and questions that lately failed; a
            time is that in which it was said. At most 50 sessions are shown. A session is also found by its id.
          </p>
        </>
      )}
    </Await>
  );
}
