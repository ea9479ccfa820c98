import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import type { Filters } from "../api/filters.ts";
import { useSessionList } from "../api/session-list.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import { FilterBar, SelectFilter, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { spanOf } from "../parts/periods.ts";
import { RangeFilter } from "../parts/range-filter.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { UserLink } from "../parts/user-link.tsx";
import { FoundSessions } from "./found-sessions.tsx";
import { sessionColumns } from "./session-columns.tsx";

const pageRows = 50;
const filterNames = ["words", "status", "since", "agentId", "userId"] as const;
type SessionFilters = Filters<(typeof filterNames)[number]>;

/** What became of a session's last turn. */
const statusChoices = [
  ["failed", "failed"],
  ["waiting", "waits for a person"],
  ["running", "running"],
  ["queued", "queued"],
  ["canceled", "canceled"],
  ["succeeded", "succeeded"],
] as const;

/** Sessions, the one that was used last first. */
export function SessionList() {
  const [filters, setFilters] = useTimeFilters(...filterNames);
  const { agentId, userId, words } = filters;
  return (
    <PageFrame title="Sessions" actionsNeed="reader" actions={<CopyLink />}>
      <FilterBar keeps>
        <TextFilter label="Search" value={words} onChange={(value) => setFilters({ words: value })} isLong />
        <SelectFilter
          label="Last turn"
          value={filters.status}
          options={statusChoices}
          onChange={(status) => setFilters({ status })}
        />
        <RangeFilter value={filters.since} usual="any" now={new Date()} onChange={(since) => setFilters({ since })} />
        <AgentPicker value={agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
        <TextFilter label="User" value={userId} onChange={(value) => setFilters({ userId: value })} />
      </FilterBar>
      {words !== undefined ? (
        <FoundSessions words={words} filters={filters} ask={() => questionOf(filters)} />
      ) : (
        <Latest filters={filters} />
      )}
    </PageFrame>
  );
}

/** Which sessions the service is asked for by these filters. */
function questionOf({ agentId, userId, status, since }: SessionFilters) {
  const span = spanOf(since, new Date());
  const known = statusChoices.find(([name]) => name === status)?.[0];
  return { agentId, userId, status: known, from: span?.from.toISOString(), to: span?.to?.toISOString() };
}

function Latest({ filters }: { readonly filters: SessionFilters }) {
  const { agentId, userId, status, since } = filters;
  const nameOf = useAgentName();
  const list = useSessionList({
    key: [agentId, userId, status, since],
    ask: () => questionOf(filters),
    pageRows,
  });
  const filtered = [agentId, userId, status, since].some((filter) => filter !== undefined);
  return (
    <ListView
      list={list}
      caption="Sessions"
      columns={sessionColumns([
        { name: "Agent", cell: (row) => <Link href={`/agents/${row.agentId}`}>{nameOf(row.agentId)}</Link> },
        { name: "User", cell: (row) => <UserLink userId={row.userId} /> },
      ])}
      rowKey={({ id }) => id}
      empty={filtered ? "No session matches." : "There is no session yet. The playground begins one."}
    />
  );
}
