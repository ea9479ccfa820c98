import type { TaskSummary } from "parley/client";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { scheduleText } from "./task-form.ts";

/** The tasks, the newest first. */
export function TaskOverview() {
  const [filters, setFilters] = useFilters("agentId");
  const agentName = useAgentName();
  const list = useCursorList<TaskSummary>({
    key: ["tasks", filters],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...filters, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.tasks.list(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 10_000,
  });
  const columns: readonly Column<TaskSummary>[] = [
    {
      name: "Name",
      cell: ({ id, name }) => (
        <Link href={`/tasks/${id}`} className="row-link">
          {name}
        </Link>
      ),
    },
    { name: "Status", cell: statusOf },
    { name: "Runs", cell: ({ schedule }) => scheduleText(schedule) },
    {
      name: "Agent",
      cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link>,
    },
    { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} />, wideOnly: true },
  ];
  return (
    <PageFrame
      title="Tasks"
      actions={
        <ButtonLink to="/tasks/new" tone="primary">
          New task
        </ButtonLink>
      }
    >
      <FilterBar>
        <AgentPicker value={filters.agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
      </FilterBar>
      <ListView
        list={list}
        caption="Tasks"
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <>
            There is no task. <Link href="/tasks/new">Create one</Link>: a prompt that an agent gets by a schedule, or
            when it is started.
          </>
        }
      />
    </PageFrame>
  );
}

function statusOf({ activeRunId, enabled, schedule }: TaskSummary) {
  if (activeRunId !== null) return <StatusBadge status="running" />;
  if (schedule === null) return <span className="faint">–</span>;
  return <StatusBadge status={enabled ? "enabled" : "disabled"} />;
}
