import { useQuery } from "@tanstack/react-query";
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
import { toneOf } from "../parts/tone.ts";
import { When } from "../parts/when.tsx";
import { nextFires, scheduleText } from "./task-form.ts";

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
    { name: "Last run", cell: LastRun },
    { name: "Last ten", cell: ({ id, latestRunId }) => <LastTen taskId={id} latestRunId={latestRunId} /> },
    { name: "Runs", cell: ({ schedule }) => scheduleText(schedule) },
    { name: "Next", cell: NextRun, wideOnly: true },
    {
      name: "Agent",
      cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link>,
    },
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

/** What the last run came to, and when. */
function LastRun({ latestRun, activeRunId }: TaskSummary) {
  if (latestRun === null) return <span className="faint">never</span>;
  return (
    <>
      <StatusBadge status={latestRun.status} />
      {latestRun.finishedAt !== null && activeRunId === null && (
        <span className="block faint">
          <When at={latestRun.finishedAt} />
        </span>
      )}
    </>
  );
}

function NextRun({ enabled, schedule }: TaskSummary) {
  const [next] = enabled ? nextFires(schedule, new Date(), 1) : [];
  return next === undefined ? <span className="faint">–</span> : <When at={next.toISOString()} />;
}

/** Runs that are looked back at. */
const lookedBack = 10;

/** How the last runs ended, the newest at the right. */
function LastTen({ taskId, latestRunId }: { readonly taskId: string; readonly latestRunId: string | null }) {
  const { data } = useQuery({
    queryKey: ["task-runs", taskId, "last", latestRunId],
    queryFn: ({ signal }) => parley.taskRuns.list(taskId, { limit: lookedBack }, { signal }),
    enabled: latestRunId !== null,
    refetchInterval: 30_000,
  });
  const runs = (data?.data ?? []).toReversed();
  const ended = runs.filter(({ finishedAt }) => finishedAt !== null);
  const good = ended.filter(({ status }) => status === "succeeded").length;
  if (runs.length === 0) return <span className="faint">–</span>;
  return (
    <span className="run-dots" role="img" aria-label={`${good} of ${ended.length} succeeded`}>
      {runs.map(({ id, status }) => (
        <i key={id} className={toneOf(status)} title={status} />
      ))}
    </span>
  );
}

function statusOf({ activeRunId, enabled, schedule }: TaskSummary) {
  if (activeRunId !== null) return <StatusBadge status="running" />;
  if (schedule === null) return <span className="faint">–</span>;
  return <StatusBadge status={enabled ? "enabled" : "disabled"} />;
}
