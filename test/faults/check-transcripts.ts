import { isDeepStrictEqual } from "node:util";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { type Entry, type History, logOf, type Message } from "./record.ts";
import type { Remains, TurnRecord } from "./rows.ts";

/** A place of a transcript as it must be. */
interface Expected {
  readonly id: string;
  readonly role: "user" | "assistant";
  /** A user's message as it was sent. */
  readonly sent: Message | null;
  readonly turn: TurnRecord;
}

/** Every session holds what its turns made of it, one after another, and its messages are what clients were sent. */
export async function checkTranscripts(history: History, remains: Remains): Promise<string[]> {
  const ops = new Map(history.entries.filter(({ message }) => message !== undefined).map((entry) => [entry.op, entry]));
  const responses = await answersOf(history);
  const faults: string[] = [];
  for (const [turnId, given] of responses) {
    const [first, ...others] = given;
    const other = others.find(({ message }) => !isDeepStrictEqual(message, first?.message));
    if (other !== undefined) faults.push(`${turnId} was sent ${JSON.stringify(first)} and ${JSON.stringify(other)}`);
  }
  for (const session of remains.sessions) {
    const stored = remains.transcripts.get(session.id);
    if (session.deleted || stored === undefined) continue;
    const turns = remains.turns.filter(({ sessionId }) => sessionId === session.id);
    const expected = replay(turns, ops);
    const shape = (list: readonly { id: string; role: string }[]) =>
      list.map(({ id, role }) => `${role} ${id}`).join(", ");
    if (shape(stored) !== shape(expected)) {
      faults.push(`${session.id} holds ${shape(stored)} in place of ${shape(expected)}`);
      continue;
    }
    for (const [index, place] of expected.entries()) faults.push(...checkMessage(stored[index]!, place, responses));
  }
  return faults;
}

/** What the turns of a session must have made of its transcript, in the order in which they ended. */
function replay(turns: readonly TurnRecord[], ops: ReadonlyMap<string, Entry>): Expected[] {
  let messages: Expected[] = [];
  for (const turn of turns) {
    const asked = turn.op === null ? undefined : ops.get(turn.op);
    const regenerates = turn.trigger === "regenerate-message";
    // What was said before a question stays when its continuation fails; a regeneration's is kept aside until its end.
    const stays =
      turn.status === "succeeded" || (turn.status === "failed" && turn.continuationId !== null && !regenerates);
    if (!stays || asked === undefined) continue;
    if (regenerates) messages = cut(messages, asked.cutAt ?? null);
    else messages.push({ id: asked.message?.id ?? "", role: "user", sent: asked.message ?? null, turn });
    messages.push({ id: turn.assistantMessageId, role: "assistant", sent: null, turn });
  }
  return messages;
}

/** Before an assistant's message, behind a user's. */
function cut(messages: readonly Expected[], at: string | null): Expected[] {
  const place =
    at === null
      ? messages.findLastIndex(({ role }) => role === "assistant")
      : messages.findLastIndex(({ id }) => id === at);
  return messages.slice(0, messages[place]?.role === "user" ? place + 1 : place);
}

function checkMessage(
  stored: Message,
  { sent, turn }: Expected,
  responses: Awaited<ReturnType<typeof answersOf>>,
): string[] {
  if (sent !== null)
    return isDeepStrictEqual(stored, sent)
      ? []
      : [`${turn.id}: ${JSON.stringify(sent)} is stored as ${JSON.stringify(stored)}`];
  const open = stored.parts.filter(({ state }) => /^(input-|approval-requested|approval-responded)/.test(state ?? ""));
  const faults = open.map((part) => `${turn.id}: a call is left open: ${JSON.stringify(part)}`);
  // A continuation extends the message that was sent.
  if (turn.continuationId !== null) return faults;
  const other = responses.get(turn.id)?.find(({ message }) => !isDeepStrictEqual(stored, message));
  if (other !== undefined)
    faults.push(`${turn.id}: ${JSON.stringify(other)} was sent, and stored is ${JSON.stringify(stored)}`);
  return faults;
}

/** What clients were sent as a turn's whole message: as JSON, or by a stream that they saw from its start to its good end. */
async function answersOf({ entries }: History): Promise<ReadonlyMap<string, { by: string; message: Message }[]>> {
  const responses = new Map<string, { by: string; message: Message }[]>();
  for (const entry of entries) {
    const message = entry.body?.message ?? (await assembled(entry));
    const isTurns = entry.reading === null || logOf(entry.reading) === entry.turnId;
    if (message === null || message === undefined || entry.turnId === null || !isTurns) continue;
    responses.set(entry.turnId, [...(responses.get(entry.turnId) ?? []), { by: entry.id, message }]);
  }
  return responses;
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
