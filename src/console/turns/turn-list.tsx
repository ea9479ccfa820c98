import type { TurnSummary } from "parley/client";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useQuestions } from "../api/questions.ts";
import { useMay } from "../api/role.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import { CostNote } from "../parts/cost.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { durationText } from "../parts/moment.ts";
import { costSoFar, tokensSoFar } from "../parts/money.ts";
import { PageFrame } from "../parts/page.tsx";
import { RangeFilter } from "../parts/range-filter.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { TitleLine } from "../parts/title-line.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { CancelAll } from "./cancel-all.tsx";
import {
  errorChoices,
  filterNames,
  kindChoices,
  longestUsual,
  queryOf,
  statusChoices,
  type TurnFilters,
} from "./turn-filters.ts";
import { ranOf } from "./turn-times.ts";

const pageRows = 50;

/** Turns of all agents, the newest first, or the longest of a time. */
export function TurnList() {
  const [filters, setFilters] = useTimeFilters(...filterNames);
  const longest = filters.order === "longest";
  const list = useCursorList<TurnSummary>({
    key: ["turns", filters],
    load: async (cursor, signal) => {
      const query = { ...queryOf(filters, Date.now()), limit: pageRows, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.turns.list(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 5_000,
  });
  const filtered = filterNames.some((name) => name !== "order" && filters[name] !== undefined);
  const agentName = useAgentName();
  const questionOf = useQuestions(list.rows.map(({ id }) => id));
  return (
    <PageFrame title="Turns" actionsNeed="reader" actions={<ListActions filters={filters} />}>
      <TurnFilterBar filters={filters} onChange={setFilters} />
      {/* As the costs, where there is room. */}
      <div className="wide-only">
        <CostNote of={list.rows} />
      </div>
      <ListView
        list={list}
        caption={longest ? "Turns, the longest first" : "Turns, the newest first"}
        columns={columnsOf(agentName, questionOf)}
        rowKey={({ id }) => id}
        empty={filtered ? "No turn matches." : "There is no turn yet. The playground begins one."}
      />
    </PageFrame>
  );
}

function ListActions({ filters }: { readonly filters: TurnFilters }) {
  const mayCancel = useMay("runner");
  return (
    <>
      <CopyLink />
      {mayCancel && <CancelAll filters={filters} />}
    </>
  );
}

interface TurnFilterBarProps {
  readonly filters: TurnFilters;
  onChange(change: TurnFilters): void;
}

function TurnFilterBar({ filters, onChange }: TurnFilterBarProps) {
  return (
    <FilterBar keeps>
      <SelectFilter
        label="Status"
        value={filters.status}
        options={statusChoices}
        onChange={(status) => onChange({ status })}
      />
      <SelectFilter
        label="Error"
        value={filters.error}
        options={errorOptions(filters.error)}
        onChange={(error) => onChange({ error })}
      />
      <AgentPicker value={filters.agentId} onChange={(chosen) => onChange({ agentId: chosen })} optional />
      <SelectFilter label="Kind" value={filters.kind} options={kindChoices} onChange={(kind) => onChange({ kind })} />
      <RangeFilter
        value={filters.since}
        usual={filters.order === "longest" ? longestUsual : "any"}
        now={new Date()}
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

/** The address may name an error that is not among the usual ones. */
function errorOptions(chosen: string | undefined): readonly string[] {
  const isKnown = chosen === undefined || errorChoices.some((code) => code === chosen);
  return isKnown ? errorChoices : [...errorChoices, chosen];
}

function columnsOf(
  agentName: (id: string) => string,
  questionOf: (id: string) => string | null | undefined,
): readonly Column<TurnSummary>[] {
  return [
    {
      name: "Turn",
      cell: (turn) => (
        <TitleLine
          to={`/turns/${turn.id}`}
          id={turn.id}
          title={questionOf(turn.id)}
          about={turn.error?.message}
          isBad={turn.status === "failed"}
        />
      ),
    },
    { name: "Status", cell: ({ status, error }) => <StatusBadge status={status} text={error?.code ?? status} /> },
    { name: "Agent", cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link> },
    { name: "User", cell: ({ userId }) => <UserLink userId={userId} /> },
    { name: "Tokens", cell: tokensSoFar, numeric: true, wideOnly: true },
    { name: "Cost", cell: costSoFar, numeric: true, wideOnly: true },
    {
      name: "Waited",
      cell: ({ waitedMs }) => (waitedMs === 0 ? "–" : durationText(waitedMs)),
      numeric: true,
      wideOnly: true,
    },
    {
      name: "Ran",
      cell: (turn) => (turn.startedAt === null ? "–" : durationText(ranOf(turn, Date.now()))),
      numeric: true,
    },
    { name: "Accepted", cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
  ];
}
