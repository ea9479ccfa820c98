import { clientTool } from "./plan.ts";
import type { History } from "./record.ts";
import { Replay } from "./replay.ts";
import type { Remains, TurnRecord } from "./rows.ts";

/** A tool ran at most once for each turn that called it, and never when it was denied. */
export function checkTools(history: History, remains: Remains): string[] {
  const { turns, memories, approvals } = remains;
  const { entries } = history;
  const byMark = Map.groupBy(memories, (text) => text);
  const faults: string[] = [];
  const replay = new Replay(history, remains);
  const mayRun = (mark: string) => 1 + regenerationsOf(mark, turns, replay);
  for (const [mark, saved] of byMark)
    if (saved.length > mayRun(mark)) faults.push(`${mark} was saved ${saved.length} times`);
  for (const [text, count] of remains.counted)
    if (count > mayRun(text.split("/")[0] ?? "")) faults.push(`${text} was counted ${count} times`);
  const failed = entries.some(({ reading }) => reading?.chunks.some(({ type }) => type === "tool-output-error"));
  // What a client tool has done is known to its caller only.
  const ours = approvals.filter(({ tool }) => tool !== clientTool.name);
  for (const [mark, asked] of Map.groupBy(ours, ({ input }) => input?.text ?? "")) {
    const saved = byMark.has(mark) || remains.counted.has(mark);
    if (saved && asked.every(({ status }) => status === "denied")) faults.push(`${mark} was denied and saved`);
    const ran = asked.filter(({ status, turnId }) => status === "approved" && hasSucceeded(turns, turnId));
    // A tool that meets a database which is away says so to the model, and the turn goes on.
    if (ran.length > 0 && !saved && !failed)
      faults.push(`${mark} was approved, its turn succeeded, and it is not saved`);
  }
  return faults;
}

/** A regeneration makes the same calls again, in the session where they were made and in its forks. */
function regenerationsOf(mark: string, turns: readonly TurnRecord[], replay: Replay): number {
  const session = turns.find(({ op }) => op === mark)?.sessionId ?? null;
  if (session === null) return 0;
  const root = replay.rootOf(session);
  return turns.filter(
    ({ sessionId, trigger }) => trigger !== "submit-message" && sessionId !== null && replay.rootOf(sessionId) === root,
  ).length;
}

function hasSucceeded(turns: readonly TurnRecord[], turnId: string): boolean {
  return turns.some(({ id, status }) => id === turnId && status === "succeeded");
}
