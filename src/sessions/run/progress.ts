import type { UIMessageChunk } from "ai";
import { retry } from "../../kernel/async/retry.ts";
import type { Ctx } from "../../kernel/context.ts";
import { chunksOfEvents, type Fenced, type LogKey } from "../../kernel/relay/relay.ts";
import { closingChunks } from "../../messages/close-parts.ts";
import { isStreamOnly } from "../../messages/tool-progress.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { Assembly } from "../../model/assembly.ts";
import type { ReachedAnswer } from "../../model/run-model.ts";
import { readCheckpoints } from "../state/checkpoint.ts";

/** What a call ends with that was under way when its worker was lost. It is not made again. */
export const lostCallText = "The worker was lost while this ran; it may have happened.";
/** A relay that does not reply is asked for this long what it has of a turn that goes on, in milliseconds. */
const relayPatienceMs = 7_000;
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

/** What a claim goes on from. */
export interface Reached extends ReachedAnswer {
  /** What readers are told of the step that broke off, before anything else. */
  readonly closing: readonly UIMessageChunk[];
  /**
   * The answer as the model is sent it. A text that broke off is left out of it: some vendors
   * refuse a prompt that ends with words of the model, and it says all of it again. A step
   * that made calls is in it, with what came of them, because the model has to know that.
   */
  readonly prompt: UiMessage;
  /** Whether the step that broke off is complete with its closing: it made calls, each of which has an end now. */
  readonly isComplete: boolean;
}

/**
 * Returns what a claim goes on from. `extended` is the answer that a continuation extends;
 * its approved calls run now when none of them can have run before.
 */
export async function goOnFrom(progress: Progress, messageId: string, extended: UiMessage | null): Promise<Reached> {
  const { saved, mayHaveRun } = progress;
  const broken = progress.broken ?? [];
  const closing = mayHaveRun
    ? closingChunks([...saved, ...broken], extended, lostCallText)
    : closingChunks(broken, null, lostCallText);
  const unsaved = [...broken, ...closing];
  const isComplete = madeCalls(broken);
  const told = [...saved, ...(isComplete ? withoutTorn(unsaved, closing) : beforeStep(broken, closing))];
  return { saved, unsaved, closing, prompt: await assembledAnswer(messageId, extended, told), isComplete };
}

/** Returns the answer as far as readers have it, closed: its open calls end with this text. */
export async function reachedAnswer(
  progress: Progress,
  messageId: string,
  extended: UiMessage | null,
  callText: string,
): Promise<UiMessage> {
  const chunks = [...progress.saved, ...(progress.broken ?? [])];
  return assembledAnswer(messageId, extended, [...chunks, ...closingChunks(chunks, extended, callText)]);
}

/** Returns the progress without a step that broke off in its text; one that made calls stays, because they may have run. */
export function completedProgress(progress: Progress): Progress {
  const { broken } = progress;
  return broken === null || madeCalls(broken) ? progress : { ...progress, broken: beforeStep(broken, []) };
}

function madeCalls(broken: readonly UIMessageChunk[]): boolean {
  return broken.some(
    (chunk) =>
      (chunk.type === "tool-input-start" || chunk.type === "tool-input-available") && chunk.providerExecuted !== true,
  );
}

/** A thought that broke off has no signature, without which its vendor does not take it. */
function withoutTorn(chunks: readonly UIMessageChunk[], closing: readonly UIMessageChunk[]): UIMessageChunk[] {
  const torn = new Set(closing.flatMap((chunk) => (chunk.type === "reasoning-end" ? [chunk.id] : [])));
  return chunks.filter(
    (chunk) => !(chunk.type.startsWith("reasoning-") && "id" in chunk && torn.has(String(chunk.id))),
  );
}

/** Returns the chunks before the step that broke off: the ends of calls of the step before, which a continuation makes. */
function beforeStep(broken: readonly UIMessageChunk[], closing: readonly UIMessageChunk[]): UIMessageChunk[] {
  const at = broken.findIndex(({ type }) => type === "start-step");
  const ends = closing.filter(({ type }) => type.startsWith("tool-"));
  return [...(at === -1 ? broken : broken.slice(0, at)), ...ends];
}

/** Returns the answer that chunks make, beyond the one that they go on with. */
export function assembledAnswer(
  messageId: string,
  extended: UiMessage | null,
  chunks: readonly UIMessageChunk[],
): Promise<UiMessage> {
  const answer = new Assembly(messageId, extended === null ? null : structuredClone(extended));
  for (const chunk of chunks) answer.add(chunk);
  return answer.message();
}
