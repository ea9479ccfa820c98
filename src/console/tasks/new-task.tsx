import { useState } from "react";
import { useLocation } from "wouter";
import { firstUsable, useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { PageFrame, Section } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { TaskControls } from "./task-controls.tsx";
import { newTask, taskOfForm } from "./task-form.ts";

/** Makes a task. */
export function NewTaskPage() {
  const [, navigate] = useLocation();
  const agents = useAgents();
  const known = agents.data?.agents ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const agentId = chosen ?? firstUsable(known)?.id ?? null;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const form = useApiForm(newTask(timeZone), async (values) => {
    const { task } = await parley.tasks.create({ agentId: agentId ?? "", ...taskOfForm(values) });
    await queryClient.invalidateQueries({ queryKey: ["tasks"] });
    toast(`${task.name} is created.`);
    navigate(`/tasks/${task.id}`, { replace: true });
  });
  return (
    <PageFrame title="New task" parent={{ title: "Tasks", to: "/tasks" }}>
      <Section title="Settings">
        <ApiForm form={form} action="Create" disabled={agentId === null}>
          <AgentPicker value={agentId} onChange={(agent) => setChosen(agent || null)} />
          <TaskControls form={form} />
        </ApiForm>
      </Section>
    </PageFrame>
  );
}
