import type { DiscardOutcome } from "../../console-shapes/operator.ts";

/** What discarding a job of this kind means, for the person who is about to. */
export function discardMeaning(task: string): string {
  if (task.endsWith(".purge"))
    return "This is refused where it has something to delete, which would stay for ever, or to tell: retry it instead.";
  return meanings[task] ?? "Only the job goes; nothing else ends with it.";
}

const addedAgain =
  "Only the job goes. Workers add a new one for what still has to be posted or sent; the tenant repairs or discards the deliveries and events themselves.";

const meanings: { readonly [task: string]: string | undefined } = {
  turn: "If its turn is still queued, the turn ends as failed and its session is free again. A turn that is over, or waits for a person, stays as it is.",
  "task.run": "If the run of its task is still queued, the run ends as failed.",
  "task.fire": "This fire of its schedule is skipped, and the schedule goes on with the next.",
  "session.next": addedAgain,
  "chat.inbox": addedAgain,
  "chat.deliver": addedAgain,
  "merchant.deliver": addedAgain,
};

/** What became of a discarded job. */
export function discardedText(id: string, outcome: DiscardOutcome): string {
  return `Job ${id} is discarded${outcomes[outcome]}.`;
}

const outcomes: { readonly [outcome in DiscardOutcome]: string } = {
  turn: ", and its turn has failed",
  run: ", and its task's run has failed",
  fire: "; its schedule goes on with the next fire",
  alone: "; nothing else ended",
};
