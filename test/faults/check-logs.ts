import { type Entry, type History, logOf, type Reading } from "./record.ts";
import type { Remains, TurnRecord } from "./rows.ts";

/** A reading of a log, and who read it. */
interface Follower {
  readonly entry: Entry;
  readonly reading: Reading;
}

/**
 * All followers of a log saw one same sequence, each its part of it, and an end
 * that is true. Where Redis was disturbed, a follower may get the end earlier.
 */
export function checkLogs({ entries }: History, { turns }: Remains, redisTroubled: boolean): string[] {
  const faults: string[] = [];
  const byLog = new Map<string, Follower[]>();
  for (const entry of entries) {
    if (entry.reading === null) continue;
    faults.push(...checkReading(entry, entry.reading));
    const log = logOf(entry.reading);
    if (log !== null) byLog.set(log, [...(byLog.get(log) ?? []), { entry, reading: entry.reading }]);
  }
  for (const [log, followers] of byLog) {
    const turnId = followers[0]?.entry.turnId;
    const turn = turns.find(({ id }) => id === turnId);
    if (turn === undefined) faults.push(`${log}: there is no turn ${turnId}`);
    else for (const follower of followers) faults.push(...checkEnd(log, turn, follower));
    faults.push(...checkAgreement(log, followers, redisTroubled));
  }
  return faults;
}

const ends = new Set(["finish", "error", "abort"]);
/** How a stream ends whose log was lost, when Redis was. */
const lostText = "The live stream was lost";

/** A stream by itself: numbered without a gap, one `start`, one end, and an end if it says that it is done. */
function checkReading(entry: Entry, { from, ids, chunks, finished, left }: Reading): string[] {
  const said = `${entry.id} (${entry.kind})`;
  const faults: string[] = [];
  const numbers = ids.map((id) => Number(id.split(":")[1]));
  const first = numbers[0] ?? 0;
  if (first !== 0 && first !== from) faults.push(`${said}: begins at event ${first} in place of ${from}`);
  if (numbers.some((number, index) => number !== first + index)) faults.push(`${said}: events ${numbers.join(" ")}`);
  faults.push(...checkNames(said, { ids, chunks }));
  const starts = chunks.filter(({ type }) => type === "start").length;
  if (chunks.length > 0 && starts !== (first === 0 ? 1 : 0)) faults.push(`${said}: ${starts} start chunks`);
  const ended = chunks.findIndex(({ type }) => ends.has(type));
  if (ended >= 0 && ended !== chunks.length - 1) faults.push(`${said}: chunks behind the end: ${types(chunks)}`);
  if (finished && ended < 0 && chunks.length > 0) faults.push(`${said}: [DONE] without an end: ${types(chunks)}`);
  // A response that is complete ends with [DONE]; one that breaks throws, and a client may leave.
  if (!finished && !left && entry.failure === null) faults.push(`${said}: ends without [DONE]: ${types(chunks)}`);
  return faults;
}

/** What the end says of the turn is so. */
function checkEnd(log: string, turn: TurnRecord, { entry, reading }: Follower): string[] {
  const last = reading.chunks.at(-1);
  if (!reading.finished || last === undefined) return [];
  const said = `${entry.id} (${entry.kind}) of ${log}: ends with ${JSON.stringify(last)}, and ${turn.id} is ${turn.status}`;
  const wasAsked = turn.continuationId !== null;
  if (last.type === "finish") return turn.status === "succeeded" || wasAsked ? [] : [said];
  if (last.type === "abort") return turn.status === "canceled" ? [] : [said];
  const text = String(last.errorText);
  return text.startsWith(lostText) || turn.status === "failed" ? [] : [said];
}

/**
 * Events of a stored message, whose cut into deltas is another one, have names of their own.
 * They may follow those of their log, never the other way around. So have those of a log that
 * began anew after a loss, of which a reader has all or nothing. What stands before a
 * continuation, up to the number in the name of its log, is always made of a stored message.
 */
function checkNames(said: string, reading: Pick<Reading, "ids" | "chunks">): string[] {
  const claims = reading.ids.map((id) => /\.\d+/.exec(id)?.[0] ?? "");
  const names = reading.ids.map((id) => id.split(":")[0]?.replace(/\.\d+/, "") ?? "");
  const first = names[0] ?? "";
  const log = first.split("+")[0];
  const changed = names.findIndex((name) => name !== first);
  const rest = new Set(changed < 0 ? [] : names.slice(changed));
  const faults = [...rest].every((name) => rest.size === 1 && [`${log}+stored`, `${log}+now`].includes(name))
    ? []
    : [`${said}: events of several logs`];
  const before = Number(first.split("+")[1] ?? 0);
  const taken = reading.chunks.find(({ id }, index) => {
    const isOfLog = names[index] === first && !Number.isNaN(before);
    const number = Number(reading.ids[index]?.split(":")[1]);
    return isOfLog && number > before && typeof id === "string" && /^part-\d+$/.test(id);
  });
  const own = claims.filter((_, index) => names[index] === first && Number(reading.ids[index]?.split(":")[1]) > before);
  if (new Set(own).size > 1) faults.push(`${said}: events of a log that was lost and of the one after it`);
  if (taken !== undefined) faults.push(`${said}: ${JSON.stringify(taken)} of a stored message as an event of ${first}`);
  return faults;
}

/** Event by event, everybody saw the same; but for what was stored at one moment, which may be another message at the next. */
function checkAgreement(log: string, followers: readonly Follower[], redisTroubled: boolean): string[] {
  const seen = new Map<string, { text: string; by: string }>();
  return followers.flatMap(({ entry, reading }) =>
    reading.ids.flatMap((id, index) => {
      const chunk = reading.chunks[index];
      const text = JSON.stringify(chunk);
      if (id.includes("+now:")) return [];
      const before = seen.get(id);
      // A follower that the relay has lost gets the end after what it has seen.
      if (redisTroubled && (chunk?.type === "error" || chunk?.type === "abort")) return [];
      if (before === undefined) seen.set(id, { text, by: entry.id });
      if (before === undefined || before.text === text) return [];
      return [`${log}: event ${id} is ${before.text} to ${before.by} and ${text} to ${entry.id}`];
    }),
  );
}

function types(chunks: Reading["chunks"]): string {
  return chunks.map(({ type }) => type).join(" ");
}
