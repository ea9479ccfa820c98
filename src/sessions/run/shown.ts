import type { UIMessageChunk } from "ai";
import { within } from "../../kernel/async/wait.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { type Progress, readProgress } from "./progress.ts";

/** What readers have of a turn that waits in the queue after a completed step, since it began or last stopped to ask. */
export interface ShownAnswer {
  readonly turnId: IdOf<"turn">;
  /** The claim that showed the last of it. */
  readonly attempt: number;
  readonly chunks: readonly UIMessageChunk[];
}

/** The relay is asked for this long what a turn showed that is to be cancelled, in milliseconds. */
const askRelayMs = 2_000;

interface HandedBackRow {
  id: IdOf<"turn">;
  logId: string;
  attempt: number;
  logAttempt: number;
  stepEvents: number;
  toolEvents: number | null;
}

/**
 * Returns what readers have of a session's turn that was to go on after a completed step; null
 * when no turn of it is queued so, or the relay does not say. For whoever cancels it: in the
 * transaction that ends it the relay cannot be asked.
 */
export async function shownOfQueued(ctx: Pick<Ctx, "sql" | "relay">, sessionId: string): Promise<ShownAnswer | null> {
  const [row] = await ctx.sql<HandedBackRow[]>`
    select /* turn.read_shown */ t.id, coalesce(c.id, t.id) as log_id, t.attempt, t.step_events, t.tool_events,
      case when c.id is null then t.log_attempt else c.log_attempt end as log_attempt
    from turns t left join continuations c on c.id = t.continuation_id
    where t.session_id = ${sessionId} and t.status = 'queued' and t.steps_done > 0
      and case when c.id is null then t.log_attempt else c.log_attempt end is not null`;
  if (row === undefined) return null;
  const { id, logId, attempt, logAttempt, stepEvents, toolEvents } = row;
  // No earlier claim writes any more, and the next one makes the log its own with the same number.
  const log = { logId, attempt: logAttempt, claim: attempt + 1 };
  const progress = await within(readProgress(ctx, { id, log, stepEvents, toolEvents }), askRelayMs, () => null);
  if (progress === null || progress.broken === null) return null;
  return { turnId: id, attempt, chunks: shownChunks(progress) };
}

/** Returns the chunks that readers have. */
export function shownChunks({ saved, broken }: Progress): readonly UIMessageChunk[] {
  return [...saved, ...(broken ?? [])];
}
