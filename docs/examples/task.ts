/** A prompt that an agent runs by itself, on a schedule; `submit` runs it now, too. */
import { agentId, parley, print } from "./begin.ts";

const { task, runId } = await parley.tasks.create({
  agentId,
  name: "Morning",
  prompt: "Say good morning.",
  schedule: { kind: "cron", config: { expression: "0 8 * * MON-FRI", timezone: "Europe/Berlin" } },
  submit: true,
});
print("Enabled:", task.enabled);
for (;;) {
  const { status } = await parley.taskRuns.get(task.id, runId ?? "");
  if (status === "succeeded" || status === "failed" || status === "canceled") {
    print("The run", status);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
}
await parley.tasks.delete(task.id);
