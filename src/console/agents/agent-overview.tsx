import type { Agent } from "parley/client";
import { Link } from "wouter";
import type { AgentMark } from "../../console-shapes/marks.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { useAgentMarks } from "../api/marks.ts";
import { useMay } from "../api/role.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { countText } from "../parts/moment.ts";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";

type MarkOf = (agentId: string) => AgentMark | undefined;

const columnsOf = (markOf: MarkOf): readonly Column<Agent>[] => [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <Link href={`/agents/${id}`} className="row-link">
        {name}
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { name: "Model", cell: ({ model }) => model ?? <span className="faint">none</span> },
  {
    name: "Turns, 24 h",
    cell: ({ id }) => <Link href={`/turns?agentId=${id}&since=day`}>{countText(markOf(id)?.turns ?? 0)}</Link>,
    numeric: true,
  },
  { name: "Failed", cell: ({ id }) => <FailedShare agentId={id} mark={markOf(id)} />, numeric: true },
  { name: "Last used", cell: ({ id }) => <When at={markOf(id)?.lastUsedAt} />, wideOnly: true },
  { name: "Version", cell: ({ version }) => version, numeric: true, wideOnly: true },
  { name: "Tools", cell: toolsText, wideOnly: true },
  { name: "", cell: ({ id }) => <Try agentId={id} /> },
];

function FailedShare({ agentId, mark }: { readonly agentId: string; readonly mark: AgentMark | undefined }) {
  if (mark === undefined || mark.failed === 0) return <span className="faint">–</span>;
  return (
    <Link href={`/turns?agentId=${agentId}&status=failed&since=day`} className="said-failure">
      {Math.max(1, Math.round((100 * mark.failed) / mark.turns))} %
    </Link>
  );
}

function Try({ agentId }: { readonly agentId: string }) {
  return useMay("runner") ? <Link href={`/playground?agent=${agentId}`}>Try</Link> : null;
}

/** More are loaded at once than elsewhere: they are searched and put in order here. */
const pageRows = 200;

/** How agents are put in order. */
const orders = [
  ["turns", "Most turns first"],
  ["failed", "Most failures first"],
  ["name", "By name"],
] as const;

/** Agents whose name, model or id has these words, in an order; as they came where none is chosen. */
function arranged(rows: readonly Agent[], words: string, order: string | undefined, markOf: MarkOf): Agent[] {
  const has = (text: string | null) => text?.toLowerCase().includes(words.toLowerCase()) === true;
  const found = rows.filter(({ name, model, id }) => words === "" || has(name) || has(model) || id === words);
  const by = (name: "turns" | "failed") => (one: Agent, other: Agent) =>
    (markOf(other.id)?.[name] ?? 0) - (markOf(one.id)?.[name] ?? 0);
  if (order === "turns" || order === "failed") return found.toSorted(by(order));
  return order === "name" ? found.toSorted((one, other) => one.name.localeCompare(other.name)) : found;
}

function toolsText({ tools, clientTools, mcpConnectionIds }: Agent): string {
  const servers = mcpConnectionIds.length;
  const words = [...tools, ...clientTools.map(({ name }) => name)];
  return [...words, ...(servers > 0 ? [`${servers} MCP`] : [])].join(", ") || "–";
}

/** The agents with what their turns of the last 24 hours came to. */
export function AgentOverview() {
  const [filters, setFilters] = useFilters("words", "order");
  const marks = useAgentMarks().data?.data;
  const markOf = (id: string) => marks?.find(({ agentId }) => agentId === id);
  const list = useCursorList<Agent>({
    key: ["agents", "list"],
    load: async (cursor, signal) => {
      const { agents, nextCursor } = await parley.agents.list(
        { limit: pageRows, ...(cursor && { cursor }) },
        { signal },
      );
      return { rows: agents, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Agents"
      actions={
        <ButtonLink to="/agents/new" tone="primary">
          New agent
        </ButtonLink>
      }
    >
      <FilterBar>
        <TextFilter label="Search" value={filters.words} onChange={(words) => setFilters({ words })} />
        <SelectFilter
          label="Order"
          value={filters.order}
          any="Newest first"
          options={orders}
          onChange={(order) => setFilters({ order })}
        />
      </FilterBar>
      <ListView
        list={{ ...list, rows: arranged(list.rows, filters.words ?? "", filters.order, markOf) }}
        caption="Agents"
        columns={columnsOf(markOf)}
        rowKey={({ id }) => id}
        empty={
          list.rows.length > 0 ? (
            "No agent matches."
          ) : (
            <>
              There is no agent yet. <Link href="/agents/new">Create one</Link>; it needs a{" "}
              <Link href="/providers">provider</Link> for its model.
            </>
          )
        }
      />
    </PageFrame>
  );
}
