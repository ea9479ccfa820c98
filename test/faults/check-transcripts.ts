import { isDeepStrictEqual } from "node:util";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { undecided } from "../harness/undecided.ts";
import { type Entry, type History, type Message, nameOf, storedIn } from "./record.ts";
import { type Place, Replay } from "./replay.ts";
import type { Remains } from "./rows.ts";

/** Every session holds what its turns made of it, one after another, and its messages are what clients were sent. */
export async function checkTranscripts(history: History, remains: Remains): Promise<string[]> {
  const replay = new Replay(history, remains);
  const responses = await answersOf(history, remains);
  const faults: string[] = [];
  for (const [turnId, given] of responses) {
    // What a continuation shows at its beginning may have grown by the time that somebody joins.
    if (!turnId.startsWith("turn_")) continue;
    const [first, ...others] = given;
    const other = others.find(({ message }) => !isDeepStrictEqual(message, first?.message));
    if (other !== undefined) faults.push(`${turnId} was sent ${JSON.stringify(first)} and ${JSON.stringify(other)}`);
  }
  for (const session of remains.sessions) {
    const stored = remains.transcripts.get(session.id);
    if (session.deleted || stored === undefined) continue;
    const shape = (list: readonly { id: string; role: string }[]) =>
      list.map(({ id, role }) => `${role} ${id}`).join(", ");
    const possible = replay.ends(session.id);
    const expected = possible.find((transcript) => shape(transcript) === shape(stored));
    if (expected === undefined) {
      faults.push(`${session.id} holds ${shape(stored)} in place of ${[...new Set(possible.map(shape))].join(" or ")}`);
      continue;
    }
    for (const [index, place] of expected.entries()) {
      // A fork may have taken what a turn had said when it waited, its calls closed.
      const isCopy = place.turn.sessionId !== session.id && place.turn.continuationId !== null;
      faults.push(...checkMessage(stored[index]!, place, isCopy ? new Map() : responses));
    }
  }
  return faults;
}

function checkMessage(
  stored: Message,
  { sent, turn }: Place,
  responses: Awaited<ReturnType<typeof answersOf>>,
): string[] {
  if (sent !== null)
    return isDeepStrictEqual(stored, sent)
      ? []
      : [`${turn.id}: ${JSON.stringify(sent)} is stored as ${JSON.stringify(stored)}`];
  const open = stored.parts.filter(({ state }) => /^(input-|approval-requested|approval-responded)/.test(state ?? ""));
  const faults = open.map((part) => `${turn.id}: a call is left open: ${JSON.stringify(part)}`);
  const streaming = stored.parts.filter(({ state }) => state === "streaming");
  faults.push(...streaming.map((part) => `${turn.id}: a part is left open: ${JSON.stringify(part)}`));
  // A continuation extends the message that was sent; who joins it is shown all of it.
  if (turn.continuationId !== null && turn.status !== "succeeded") return faults;
  // No chunk says what people decided: who joins a continuation as a whole reads the ends of its calls.
  const other = responses
    .get(turn.continuationId ?? turn.id)
    ?.find(({ message, streamed }) =>
      streamed ? !isDeepStrictEqual(undecided(stored), undecided(message)) : !isDeepStrictEqual(stored, message),
    );
  if (other !== undefined)
    faults.push(`${turn.id}: ${JSON.stringify(other)} was sent, and stored is ${JSON.stringify(stored)}`);
  return faults;
}

/** A whole message that a client was sent, as JSON or as a stream. */
interface Sent {
  readonly by: string;
  readonly message: Message;
  readonly streamed: boolean;
}

/** What clients were sent as the whole message of a turn, or of one of its continuations, by the id of that: as JSON, or by a stream that they saw from its start to its good end. */
async function answersOf({ entries }: History, { turns }: Remains): Promise<ReadonlyMap<string, Sent[]>> {
  const lastLogs = new Map(turns.map(({ id, continuationId }) => [id, continuationId ?? id]));
  const responses = new Map<string, Sent[]>();
  for (const entry of entries) {
    // As JSON it is what a continuation made of the turn's message, and does not say which continuation.
    if (entry.kind === "round trip" && entry.reading === null) continue;
    const message = entry.body?.message ?? (await assembled(entry));
    const log = wholeLog(entry, lastLogs);
    if (message === null || message === undefined || log === null) continue;
    const streamed = entry.body?.message === undefined;
    responses.set(log, [...(responses.get(log) ?? []), { by: entry.id, message, streamed }]);
  }
  return responses;
}

/** The turn or continuation whose whole message a response shows; null where it shows a part, or what was stored before the end. */
function wholeLog({ reading, turnId }: Entry, lastLogs: ReadonlyMap<string, string>): string | null {
  if (reading === null) return turnId;
  const stored = storedIn(reading);
  if (stored !== null) return stored === "now" ? null : (lastLogs.get(turnId ?? "") ?? null);
  const [log = "", before] = nameOf(reading)?.split("+") ?? [];
  return log.startsWith("turn_") || before !== undefined ? log : null;
}

/** The message that the AI SDK makes of what was read; null when that is not all of it. */
async function assembled({ reading }: Entry): Promise<Message | null> {
  const whole = reading?.finished && reading.ids[0]?.endsWith(":0") && reading.chunks.at(-1)?.type === "finish";
  if (!reading || !whole) return null;
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of reading.chunks) controller.enqueue(chunk as unknown as UIMessageChunk);
      controller.close();
    },
  });
  let last: UIMessage | null = null;
  for await (const message of readUIMessageStream<UIMessage>({ stream })) last = message;
  return last === null ? null : JSON.parse(JSON.stringify(last));
}
