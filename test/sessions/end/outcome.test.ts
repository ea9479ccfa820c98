import { describe, expect, test } from "bun:test";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import fc from "fast-check";
import { OpenEnds } from "../../../src/messages/close-parts.ts";
import { previewOf } from "../../../src/messages/text.ts";
import { isOpenCall } from "../../../src/messages/tool-calls.ts";
import type { UiMessage } from "../../../src/messages/ui-message.ts";
import { streamClosing } from "../../../src/sessions/end/close-stream.ts";
import {
  canceledCallText,
  type EndCause,
  lostCallText,
  outcomeOf,
  type TurnEnding,
} from "../../../src/sessions/end/outcome.ts";
import { assembledAnswer, type EndingTurn } from "../../../src/sessions/end/reached.ts";
import type { TurnOutcome } from "../../../src/sessions/state/turn-end.ts";

/** The table of `outcome.ts`, read as a person reads it. */
const statusOf: { readonly [Why in EndCause]: TurnOutcome["status"] } = {
  finished: "succeeded",
  asks: "waiting",
  failed: "failed",
  credit: "failed",
  budget: "failed",
  limit: "failed",
  drained: "failed",
  lost: "failed",
  discarded: "failed",
  refused: "failed",
  canceled: "canceled",
};
const causes = Object.keys(statusOf) as EndCause[];
const error = { code: "provider_error", message: "It failed." };
const question = { id: "msg_q", role: "user", parts: [{ type: "text", text: "Hi" }] } as unknown as UiMessage;

/** Chunks of one step. */
const stepChunks = (n: number): fc.Arbitrary<UIMessageChunk[]> =>
  fc
    .array(fc.constantFrom("text", "thought", "call", "returned"), { maxLength: 4 })
    .map((kinds) => [
      { type: "start-step" } as const,
      ...kinds.flatMap((kind, place) => partChunks(kind, `${n}-${place}`)),
      { type: "finish-step" } as const,
    ]);

function partChunks(kind: string, id: string): UIMessageChunk[] {
  if (kind === "text" || kind === "thought") {
    const type = kind === "text" ? "text" : "reasoning";
    return [
      { type: `${type}-start`, id },
      { type: `${type}-delta`, id, delta: "some " },
      { type: `${type}-delta`, id, delta: "words" },
      { type: `${type}-end`, id },
    ];
  }
  const start = { type: "tool-input-start", toolCallId: id, toolName: "send" } as const;
  if (kind === "broken input") return [start, { type: "tool-input-delta", toolCallId: id, inputTextDelta: '{"a' }];
  const called = { type: "tool-input-available", toolCallId: id, toolName: "send", input: { to: id } } as const;
  return kind === "call"
    ? [start, called]
    : [start, called, { type: "tool-output-available", toolCallId: id, output: 1 }];
}

/** Steps, cut off anywhere; in the last one the input of a call may still be coming. */
const streams = fc
  .tuple(fc.array(fc.constant(null), { maxLength: 3 }), fc.boolean())
  .chain(([steps, isBroken]) =>
    fc.tuple(...steps.map((_, n) => stepChunks(n))).map((chunks) => {
      const all = (chunks as UIMessageChunk[][]).flat();
      return isBroken && all.length > 0 ? [...all.slice(0, -1), ...partChunks("broken input", "last")] : all;
    }),
  )
  .chain((all) => fc.nat({ max: all.length }).map((cut) => all.slice(0, cut)));

const turns = fc.constantFrom("new", "regeneration", "continuation", "continued regeneration", "stateless");
const turnOf: { readonly [kind: string]: EndingTurn } = {
  new: { sessionId: "ses_1", continuationId: null, keepSeq: null, input: question },
  regeneration: { sessionId: "ses_1", continuationId: null, keepSeq: 3, input: null },
  continuation: { sessionId: "ses_1", continuationId: "cont_1", keepSeq: null, input: question },
  "continued regeneration": { sessionId: "ses_1", continuationId: "cont_1", keepSeq: 3, input: null },
  stateless: { sessionId: null, continuationId: null, keepSeq: null, input: [question] },
};
/** What a continuation goes on with: an approved call that has not run, and a denied one. */
const extended = {
  id: "msg_a",
  role: "assistant",
  parts: [
    { type: "step-start" },
    { type: "text", text: "I ask.", state: "done" },
    {
      type: "tool-send",
      toolCallId: "yes",
      state: "approval-responded",
      input: {},
      approval: { id: "a1", approved: true },
    },
    {
      type: "tool-send",
      toolCallId: "no",
      state: "approval-responded",
      input: {},
      approval: { id: "a2", approved: false },
    },
  ],
} as unknown as UiMessage;

/** The message that the AI SDK's client has after these chunks. */
async function clientMessage(chunks: readonly UIMessageChunk[], begun: UiMessage | null): Promise<UiMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const message = structuredClone(begun ?? { id: "msg_a", role: "assistant", parts: [] }) as unknown as UIMessage;
  let last = message;
  for await (const next of readUIMessageStream<UIMessage>({ message, stream, terminateOnError: true })) last = next;
  return JSON.parse(JSON.stringify(last));
}

/** The parts of a message; the AI SDK's reader does not yield one for a step that begins and says nothing. */
function spoken({ parts }: UiMessage): readonly unknown[] {
  const last = parts.findLastIndex((part) => (part as { type: string }).type !== "step-start");
  return parts.slice(0, last + 1);
}

interface Case {
  readonly why: EndCause;
  readonly keep: "nothing" | "partial";
  readonly mayHaveRun: boolean;
  readonly kind: string;
  readonly chunks: readonly UIMessageChunk[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  why: fc.constantFrom(...causes),
  keep: fc.constantFrom("nothing" as const, "partial" as const),
  mayHaveRun: fc.boolean(),
  kind: turns,
  chunks: streams,
});

async function ended({ why, keep, mayHaveRun, kind, chunks }: Case) {
  const turn = turnOf[kind] as EndingTurn;
  const begun = turn.continuationId === null ? null : extended;
  const message = chunks.length === 0 ? begun : await assembledAnswer("msg_a", begun, chunks);
  const isGood = why === "finished" || why === "asks";
  const failure = isGood || why === "canceled" ? {} : { error };
  const reached = { message, lastChunk: { type: "finish" }, mayHaveRun, before: question };
  const ending: TurnEnding = { why, keep, reached, ...failure };
  const outcome = outcomeOf(turn, ending);
  const stored =
    outcome.replaced ?? outcome.answer ?? outcome.messages.find(({ role }) => role === "assistant") ?? null;
  return { turn, begun, message, outcome, stored, isGood };
}

describe("the outcome of a turn, whatever it has said and however it ended", () => {
  const run = (check: (one: Case, made: Awaited<ReturnType<typeof ended>>) => Promise<void> | void) =>
    fc.assert(
      fc.asyncProperty(cases, async (one) => check(one, await ended(one))),
      { numRuns: 1_000 },
    );

  test("has the table's status, error and last chunk", () =>
    run(({ why }, { outcome }) => {
      expect(outcome.status).toBe(statusOf[why]);
      expect(outcome.error).toEqual(statusOf[why] === "failed" ? error : null);
      const last = { succeeded: "finish", waiting: "finish", failed: "error", canceled: "abort" };
      expect((outcome.lastChunk as { type: string }).type).toBe(last[statusOf[why]]);
      expect(outcome.continuationId === null).toBe(why !== "asks");
    }));

  test("stores what the AI SDK's client has assembled from the stream, with nothing open", () =>
    run(async ({ chunks }, { begun, outcome, stored, isGood }) => {
      if (stored === null) return;
      // A model that has finished has sent the whole of its calls.
      if (isGood && stored.parts.some((part) => isOpenCall(part) && part.state === "input-streaming")) return;
      const open = new OpenEnds();
      open.begin(begun);
      for (const chunk of chunks) open.note(chunk);
      const closing = streamClosing(open, outcome);
      expect(closing.length > 0 && isGood).toBe(false);
      const seen = await clientMessage([...chunks, ...closing], begun);
      expect(spoken(seen)).toEqual(spoken(JSON.parse(JSON.stringify(stored))));
      if (!isGood) expect(stored.parts.some(isOpenCall)).toBe(false);
    }));

  test("keeps what the table says, where it belongs", () =>
    run(({ why, keep, kind }, { turn, message, outcome, stored, isGood }) => {
      const said = (message?.parts ?? []).some((part) => (part as { type: string }).type !== "step-start");
      const isPartial = why === "canceled" && keep === "partial";
      const keepsSaid = isPartial || ["credit", "budget", "limit", "drained", "lost", "discarded"].includes(why);
      const keeps = kind !== "stateless" && said && (keepsSaid || (why === "failed" && kind === "continuation"));
      expect(stored !== null).toBe(isGood ? message !== null : keeps);
      const rowOnly = isGood && (kind === "stateless" || (turn.keepSeq !== null && why === "asks"));
      expect(outcome.answer !== null).toBe(rowOnly && message !== null);
      expect(outcome.replaced !== null).toBe(stored !== null && kind === "continuation");
      const asksAgain = kind === "new" && (stored !== null || isPartial);
      expect(outcome.messages.filter(({ role }) => role === "user")).toEqual(asksAgain ? [question] : []);
      const last = outcome.replaced ?? outcome.messages.at(-1);
      const isUndone = why === "canceled" && keep === "nothing" && turn.continuationId !== null;
      expect(outcome.preview).toBe(last === undefined ? (isUndone ? "Hi" : null) : previewOf(last));
    }));

  test("ends the calls that were open with the table's text, and those that were denied as denied", () =>
    run(({ why, mayHaveRun }, { message, stored, isGood }) => {
      if (stored === null || isGood) return;
      const isLost = why === "lost" || (why === "discarded" && mayHaveRun);
      const text = why === "canceled" ? canceledCallText : isLost ? lostCallText : error.message;
      const open = (message?.parts ?? []).flatMap((part, place) => (isOpenCall(part) ? [{ part, place }] : []));
      for (const { part, place } of open) {
        const { state, errorText } = stored.parts[place] as { state: string; errorText?: string };
        expect([state, errorText]).toEqual(
          part.approval?.approved === false ? ["output-denied", undefined] : ["output-error", text],
        );
      }
    }));
});
