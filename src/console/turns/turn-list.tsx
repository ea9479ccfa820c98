import type { TurnSummary } from "parley/client";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { CancelAll } from "./cancel-all.tsx";
import {
  filterNames,
  kindChoices,
  lengthOf,
  periods,
  queryOf,
  statusChoices,
  type TurnFilters,
} from "./turn-filters.ts";

/** A page of the list; by length, as many as the API gives at once are compared. */
const pageRows = 50;
const comparedRows = 200;

/** Turns of all agents, the newest first, or the longest of those that are loaded. */
export function TurnList() {
  const [filters, setFilters] = useFilters(...filterNames);
  const longest = filters.order === "longest";
  const list = useCursorList<TurnSummary>({
    key: ["turns", filters],
    load: async (cursor, signal) => {
      const query = { ...queryOf(filters, Date.now()), limit: longest ? comparedRows : pageRows };
      const { data, nextCursor } = await parley.turns.list({ ...query, ...(cursor && { cursor }) }, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 5_000,
  });
  const now = Date.now();
  const rows = longest ? list.rows.toSorted((one, other) => lengthOf(other, now) - lengthOf(one, now)) : list.rows;
  const filtered = filterNames.some((name) => name !== "order" && filters[name] !== undefined);
  const agentName = useAgentName();
  return (
    <PageFrame title="Turns" actionsNeed="runner" actions={<CancelAll filters={filters} />}>
      <TurnFilterBar filters={filters} onChange={setFilters} />
      <ListView
        list={{ ...list, rows }}
        caption={longest ? "Turns, the longest first" : "Turns, the newest first"}
        columns={columnsOf(agentName)}
        rowKey={({ id }) => id}
        empty={filtered ? "No turn matches." : "There is no turn yet. The playground begins one."}
      />
    </PageFrame>
  );
}

interface TurnFilterBarProps {
  readonly filters: TurnFilters;
  onChange(change: TurnFilters): void;
}

function TurnFilterBar({ filters, onChange }: TurnFilterBarProps) {
  return (
    <FilterBar>
      <SelectFilter
        label="Status"
        value={filters.status}
        options={statusChoices}
        onChange={(status) => onChange({ status })}
      />
      <AgentPicker value={filters.agentId} onChange={(chosen) => onChange({ agentId: chosen })} optional />
      <SelectFilter label="Kind" value={filters.kind} options={kindChoices} onChange={(kind) => onChange({ kind })} />
      <SelectFilter
        label="Time"
        value={filters.since}
        options={periods.map(({ name, label }) => [name, label] as const)}
        onChange={(since) => onChange({ since })}
      />
      <TextFilter label="User" value={filters.userId} onChange={(userId) => onChange({ userId })} />
      <TextFilter label="Session" value={filters.sessionId} onChange={(sessionId) => onChange({ sessionId })} />
      <div className="field check">
        <input
          id="turns-longest"
          type="checkbox"
          checked={filters.order === "longest"}
          onChange={(event) => onChange({ order: event.target.checked ? "longest" : "" })}
        />
        <label htmlFor="turns-longest">Longest first</label>
      </div>
    </FilterBar>
  );
}

function columnsOf(agentName: (id: string) => string): readonly Column<TurnSummary>[] {
  return [
    {
      name: "Turn",
      cell: ({ id, error }) => (
        <>
          <Link href={`/turns/${id}`} className="row-link">
            {id}
          </Link>
          {error !== null && <p className="fault">{error.message}</p>}
        </>
      ),
    },
    { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
    { name: "Agent", cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link> },
    { name: "Kind", cell: ({ kind }) => kind, wideOnly: true },
    { name: "User", cell: ({ userId }) => userId || <span className="faint">–</span>, wideOnly: true },
    { name: "Tokens", cell: (turn) => countText(turn.inputTokens + turn.outputTokens), numeric: true, wideOnly: true },
    { name: "Took", cell: (turn) => durationText(lengthOf(turn, Date.now())), numeric: true },
    { name: "Accepted", cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
  ];
}
