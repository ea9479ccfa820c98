import { type Entry, type History, logOf, type Message } from "./record.ts";
import type { Remains, TurnRecord } from "./rows.ts";

/** What a cancelled turn left in the transcript is what its readers were shown, as far as each of them read. */
export function checkKept({ entries }: History, { turns, transcripts }: Remains): string[] {
  const readings = Map.groupBy(
    entries.filter(({ reading }) => reading !== null),
    ({ turnId }) => turnId,
  );
  const stored = new Map<string, Message>();
  for (const messages of transcripts.values()) for (const message of messages) stored.set(message.id, message);
  return turns.flatMap((turn) => {
    const kept = stored.get(turn.assistantMessageId);
    // What was said before a question is in another log than what came after it.
    if (turn.status !== "canceled" || turn.continuationId !== null || kept === undefined) return [];
    if (turn.cancelKeep !== "partial") return [`${turn.id} was cancelled, and ${JSON.stringify(kept)} is stored`];
    return (readings.get(turn.id) ?? []).flatMap((entry) => compare(turn, kept, entry));
  });
}

function compare(turn: TurnRecord, kept: Message, { id, reading }: Entry): string[] {
  if (reading === null || logOf(reading) !== turn.id || !reading.ids[0]?.endsWith(":0")) return [];
  const text = (type: string) =>
    reading.chunks.map((chunk) => (chunk.type === `${type}-delta` ? String(chunk.delta) : "")).join("");
  return ["text", "reasoning"].flatMap((type) => {
    const said = kept.parts.map((part) => (part.type === type ? part.text : "")).join("");
    const shown = text(type);
    return said.startsWith(shown) || shown.startsWith(said)
      ? []
      : [`${turn.id} kept the ${type} ${JSON.stringify(said)}, and ${id} was shown ${JSON.stringify(shown)}`];
  });
}
