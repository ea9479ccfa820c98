import { useQuery } from "@tanstack/react-query";
import type { Task } from "parley/client";
import { Link, useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { TaskControls } from "./task-controls.tsx";
import { formOfTask, nextFires, scheduleText, taskOfForm } from "./task-form.ts";
import { TaskRuns } from "./task-runs.tsx";

/** One task: what it asks and when, and its runs. */
export function TaskPage({ taskId }: { readonly taskId: string }) {
  const query = useQuery({
    queryKey: ["task", taskId],
    queryFn: ({ signal }) => parley.tasks.get(taskId, { signal }),
    refetchInterval: 5_000,
  });
  const task = query.data;
  return (
    <PageFrame
      title={task?.name ?? "Task"}
      parent={{ title: "Tasks", to: "/tasks" }}
      mark={task?.activeRunId && <StatusBadge status="running" />}
      actionsNeed="runner"
      actions={task && <TaskActions task={task} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            <TaskFacts task={known} />
            <Section title="Runs">
              <TaskRuns taskId={known.id} activeRunId={known.activeRunId} />
            </Section>
            <Section title="Settings">
              <TaskSettings key={known.updatedAt} task={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function TaskFacts({ task }: { readonly task: Task }) {
  const agent = useQuery({
    queryKey: ["agent", task.agentId],
    queryFn: ({ signal }) => parley.agents.get(task.agentId, { signal }),
  });
  const [next] = task.enabled ? nextFires(task.schedule, new Date(), 1) : [];
  return (
    <Facts
      facts={{
        Id: <CopyableId id={task.id} />,
        Agent: <Link href={`/agents/${task.agentId}`}>{agent.data?.name ?? task.agentId}</Link>,
        Version: task.agentVersion ?? "latest",
        Runs: scheduleText(task.schedule),
        ...(task.schedule !== null && { Schedule: <StatusBadge status={task.enabled ? "enabled" : "disabled"} /> }),
        ...(next !== undefined && { "Fires next": <When at={next.toISOString()} /> }),
        User: task.userId || null,
        Created: <When at={task.createdAt} />,
      }}
    />
  );
}

function TaskSettings({ task }: { readonly task: Task }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const form = useApiForm(formOfTask(task, timeZone), async (values) => {
    await parley.tasks.update(task.id, taskOfForm(values));
    await readTaskAnew(task.id);
    toast("The task is saved.");
  });
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged}>
      <TaskControls form={form} />
    </ApiForm>
  );
}

async function readTaskAnew(taskId: string): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["task", taskId] });
  await queryClient.invalidateQueries({ queryKey: ["tasks"] });
  await queryClient.invalidateQueries({ queryKey: ["task-runs", taskId] });
}

function TaskActions({ task }: { readonly task: Task }) {
  const [, navigate] = useLocation();
  const mayChange = useMay("editor");
  const act = (work: () => Promise<unknown>, said: string) =>
    void work()
      .then(() => toast(said))
      .catch(toastError)
      .finally(() => readTaskAnew(task.id));
  async function remove(): Promise<void> {
    await parley.tasks.delete(task.id);
    queryClient.removeQueries({ queryKey: ["task", task.id] });
    await queryClient.invalidateQueries({ queryKey: ["tasks"] });
    navigate("/tasks", { replace: true });
    toast(`${task.name} is deleted.`);
  }
  return (
    <>
      <Button
        tone="primary"
        disabled={task.activeRunId !== null}
        onClick={() => act(() => parley.taskRuns.start(task.id), "A run is started.")}
      >
        Run now
      </Button>
      {mayChange && task.schedule !== null && (
        <Button
          onClick={() =>
            act(
              () => parley.tasks.update(task.id, { enabled: !task.enabled }),
              task.enabled ? "The schedule is disabled." : "The schedule is enabled.",
            )
          }
        >
          {task.enabled ? "Disable" : "Enable"}
        </Button>
      )}
      <ConfirmButton label="Delete" title={`Delete ${task.name}?`} onConfirm={remove}>
        <p>It does not fire any more. Its runs and their sessions stay.</p>
      </ConfirmButton>
    </>
  );
}
