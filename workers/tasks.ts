import type { TaskList } from "graphile-worker";
import type { JobName } from "../src/jobs.ts";
import { runTurnJob, type TurnRunner } from "../src/sessions/run.ts";

/** Job name → slice function; a name without a function does not compile. */
export function taskList(runner: TurnRunner): TaskList {
  return {
    turn: (payload) => runTurnJob(runner, payload as never),
  } satisfies Partial<Record<JobName, TaskList[string]>>;
}
