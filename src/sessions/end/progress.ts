import type { UIMessageChunk } from "ai";
import { retry } from "../../kernel/async/retry.ts";
import { within } from "../../kernel/async/wait.ts";
import type { Ctx } from "../../kernel/context.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { chunksOfEvents, type Fenced, type LogKey } from "../../kernel/relay/relay.ts";
import { isStreamOnly } from "../../messages/tool-progress.ts";
import type { NamedSession } from "../state/cancel-request.ts";
import { readCheckpoints } from "../state/checkpoint.ts";

/** A relay that does not reply is asked for this long what it has of a turn that goes on, in milliseconds. */
const relayPatienceMs = 7_000;
/** It is asked for this long what a turn showed that is to be cancelled, in milliseconds. */
const askRelayMs = 2_000;
/** Reading that takes at most this long, in milliseconds. */
const logReadMs = 10_000;

/** A turn that has completed steps, and where its log is. */
export interface BrokenTurn {
  readonly id: string;
  /** Its log, and the claim that writes it from now on. */
  readonly log: LogKey & { readonly claim: number };
  readonly stepEvents: number;
  readonly toolEvents: number | null;
}

/** How far a turn had come whose worker was lost. */
export interface Progress {
  /** The chunks of its completed steps. */
  readonly saved: readonly UIMessageChunk[];
  /** The chunks that readers have of the step that was under way. Null: the relay has lost them. */
  readonly broken: readonly UIMessageChunk[] | null;
  /** Events in the turn log. */
  readonly events: number;
  /** Whether tools of that step may have run. */
  readonly mayHaveRun: boolean;
}

/**
 * Returns how far a turn had come, and makes its log this claim's: what an earlier one still
 * writes has no effect any more. A relay that does not reply for `relayPatienceMs` has lost
 * the log. Throws what Postgres throws.
 */
export async function readProgress({ sql, relay }: Pick<Ctx, "sql" | "relay">, turn: BrokenTurn): Promise<Progress> {
  const [saved, log] = await Promise.all([readCheckpoints(sql, turn.id), readLog(relay, turn).catch(() => null)]);
  const { broken, events } = log ?? { broken: null, events: 0 };
  return { saved, broken, events, mayHaveRun: turn.toolEvents !== null };
}

/** Returns the events of the step that was under way; null when the log does not reach that far. */
async function readLog(
  relay: Ctx["relay"],
  { log, stepEvents, toolEvents }: BrokenTurn,
): Promise<{ broken: UIMessageChunk[]; events: number } | null> {
  const fence = () => relay.fence(log, log.claim);
  const patience = { limitMs: relayPatienceMs, pauseMsMin: 50, pauseMsMax: 1_000, retryIf: () => true };
  const { state, tail }: Fenced = await retry(fence, patience);
  if (state !== "open" || tail < Math.max(stepEvents, toolEvents ?? 0)) return null;
  const broken: UIMessageChunk[] = [];
  let next = stepEvents + 1;
  if (next > tail) return { broken, events: tail };
  for await (const item of relay.follow(log, next, AbortSignal.timeout(logReadMs))) {
    if (item.type !== "batch") return null;
    broken.push(...(chunksOfEvents(item.batch.sse) as UIMessageChunk[]).filter((chunk) => !isStreamOnly(chunk)));
    next += item.batch.count;
    if (next > tail) return { broken, events: tail };
  }
  return null;
}

/** Returns the chunks that readers have. */
export function shownChunks({ saved, broken }: Progress): readonly UIMessageChunk[] {
  return [...saved, ...(broken ?? [])];
}

/** What readers have of a turn that waits in the queue after a completed step, since it began or last stopped to ask. */
export interface ShownAnswer {
  readonly turnId: IdOf<"turn">;
  /** The claim that showed the last of it. */
  readonly attempt: number;
  readonly chunks: readonly UIMessageChunk[];
}

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
export async function shownOfQueued(
  ctx: Pick<Ctx, "sql" | "relay">,
  { tenantId, agentId, sessionId }: NamedSession,
): Promise<ShownAnswer | null> {
  const [row] = await ctx.sql<HandedBackRow[]>`
    select /* turn.read_shown */ t.id, coalesce(c.id, t.id) as log_id, t.attempt, t.step_events, t.tool_events,
      case when c.id is null then t.log_attempt else c.log_attempt end as log_attempt
    from turns t left join continuations c on c.id = t.continuation_id
    where t.session_id = ${sessionId} and ${byKeyOnly(ctx.sql, ctx.sql`t.tenant_id`)} = ${tenantId}
      and ${byKeyOnly(ctx.sql, ctx.sql`t.agent_id`)} = ${agentId} and t.status = 'queued' and t.steps_done > 0
      and case when c.id is null then t.log_attempt else c.log_attempt end is not null`;
  if (row === undefined) return null;
  const { id, logId, attempt, logAttempt, stepEvents, toolEvents } = row;
  // No earlier claim writes any more, and the next one makes the log its own with the same number.
  const log = { logId, attempt: logAttempt, claim: attempt + 1 };
  const progress = await within(readProgress(ctx, { id, log, stepEvents, toolEvents }), askRelayMs, () => null);
  if (progress === null || progress.broken === null) return null;
  return { turnId: id, attempt, chunks: shownChunks(progress) };
}

/** Returns the progress without a step that broke off in its text; one that made calls stays, because they may have run. */
export function completedProgress(progress: Progress): Progress {
  const { broken } = progress;
  return broken === null || madeCalls(broken) ? progress : { ...progress, broken: beforeStep(broken, []) };
}

/** Returns whether the step that broke off made calls, which its own worker runs. */
export function madeCalls(broken: readonly UIMessageChunk[]): boolean {
  return broken.some(
    (chunk) =>
      (chunk.type === "tool-input-start" || chunk.type === "tool-input-available") && chunk.providerExecuted !== true,
  );
}

/** Returns the chunks before the step that broke off: the ends of calls of the step before, which a continuation makes. */
export function beforeStep(broken: readonly UIMessageChunk[], closing: readonly UIMessageChunk[]): UIMessageChunk[] {
  const at = broken.findIndex(({ type }) => type === "start-step");
  const ends = closing.filter(({ type }) => type.startsWith("tool-"));
  return [...(at === -1 ? broken : broken.slice(0, at)), ...ends];
}
