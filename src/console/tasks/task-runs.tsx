import type { TaskRun } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { ListView } from "../parts/list-view.tsx";
import { durationText } from "../parts/moment.ts";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";

interface TaskRunsProps {
  readonly taskId: string;
  readonly activeRunId: string | null;
}

/** The runs of a task, the newest first. */
export function TaskRuns({ taskId, activeRunId }: TaskRunsProps) {
  const list = useCursorList<TaskRun>({
    key: ["task-runs", taskId, activeRunId],
    load: async (cursor, signal) => {
      const query = { limit: 20, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.taskRuns.list(taskId, query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: activeRunId === null ? 10_000 : 2_000,
  });
  return <ListView list={list} caption="Runs" columns={columns} rowKey={({ id }) => id} empty="It has not run yet." />;
}

const columns: readonly Column<TaskRun>[] = [
  {
    name: "Run",
    cell: ({ id, turnId, error }) => (
      <>
        {turnId === null ? <code>{id}</code> : <Link href={`/turns/${turnId}`}>{id}</Link>}
        {error !== null && <p className="fault">{error.message}</p>}
      </>
    ),
  },
  { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    name: "Session",
    cell: ({ sessionId, agentId }) => sessionId && <Link href={`/sessions/${agentId}/${sessionId}`}>Open</Link>,
  },
  { name: "Took", cell: tookOf, numeric: true },
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} /> },
  { name: "", cell: (run) => run.finishedAt === null && <CancelRun run={run} /> },
];

function tookOf({ startedAt, finishedAt }: TaskRun): string {
  if (startedAt === null) return "–";
  return durationText((finishedAt === null ? Date.now() : Date.parse(finishedAt)) - Date.parse(startedAt));
}

function CancelRun({ run }: { readonly run: TaskRun }) {
  async function cancel(): Promise<void> {
    await parley.taskRuns.cancel(run.taskId, run.id);
    await queryClient.invalidateQueries({ queryKey: ["task-runs", run.taskId] });
    toast("The run is canceled.");
  }
  return (
    <ConfirmButton label="Cancel" needs="runner" title="Cancel this run?" onConfirm={cancel}>
      <p>It ends now. Nothing that it said is kept.</p>
    </ConfirmButton>
  );
}
