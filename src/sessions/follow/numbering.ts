import type { LogKey } from "../../kernel/relay/relay.ts";

/**
 * The events of a stream are numbered per turn log: `<log>:<n>`. A reader that comes within a
 * continuation gets the message so far before the continuation's own events; `<log>+<k>:<n>`
 * says so: `k` events stand before the log's first, so that event `n` is the log's `n - k`.
 *
 * A log that the relay loses together with its worker begins anew, and is divided in another way
 * than what readers have seen of it. Its events are `<log>.<claim>:<n>`, by the claim that began it,
 * so that a number of the lost log is none of the new one (`isPlaceIn`). What stands before a
 * log's own events, which are `start` and the message so far, is the same for all of them.
 *
 * The stored message is divided in another way, so its events have names that no log's have:
 * `<log>+stored:<n>` once the turn has ended, when the message stays as it is. `<log>+now:<n>`
 * is an event of what was known at that moment; nobody can go on after it, so a reader that
 * comes back with one gets the whole from `start` on.
 */
export interface EventPlace {
  readonly logId: string;
  /** The claim that is in the name; null: none is. */
  readonly claim: number | null;
  readonly before: number | "stored";
  /** The number of the next event; 0, the whole sequence, where the last one's is no number. */
  readonly next: number;
}

/** Returns the place behind the request's `Last-Event-ID`; null when there is none. */
export function placeAfter(request: Request): EventPlace | null {
  const id = request.headers.get("last-event-id") ?? "";
  const [, logId, by, before, number] =
    /^((?:turn|cont)_[0-9a-z]{1,40})(?:\.(\d{1,9}))?(?:\+(\d{1,9}|stored|now))?(?::(\d{1,9})?.*)?$/.exec(id) ?? [];
  if (logId === undefined) return null;
  const claim = by === undefined ? null : Number(by);
  if (before === "now") return { logId, claim, before: "stored", next: 0 };
  const whole = number === undefined || !id.endsWith(`:${number}`);
  const next = whole ? 0 : Number(number) + 1;
  return { logId, claim, before: before === "stored" ? before : Number(before ?? 0), next };
}

/** Returns whether the place is one in this log. It is none where its reader has seen events of a log that was lost. */
export function isPlaceIn({ claim, before, next }: EventPlace, { attempt, afterLoss = false }: LogKey): boolean {
  const hasSeenLog = next - 1 > Number(before);
  return !hasSeenLog || claim === (afterLoss ? attempt : null);
}

/**
 * Returns the number of the event that a reader who comes back is to get next, of a log with so
 * many others before its events; 0, the whole sequence, where its place is another one's.
 */
export function nextIn(place: EventPlace | null, key: LogKey, before: number): number {
  return place?.logId === key.logId && place.before === before && isPlaceIn(place, key) ? place.next : 0;
}

/** Returns the name under which events are numbered when so many others stand before them, or those of what is stored. */
export function nameWith(name: string, before: EventPlace["before"] | "now"): string {
  return before === 0 ? name : `${name}+${before}`;
}

/** Returns events of a log with the numbers that they have when so many others stand before them. */
export function renumbered(sse: string, logId: string, before: number): string {
  if (before === 0) return sse;
  // JSON has no raw line break, so only an event's own first line begins like this.
  return sse.replaceAll(
    new RegExp(`^id: (${logId}(?:\\.\\d+)?)(\\+now)?:(\\d+)$`, "gm"),
    (_, name: string, now, number) =>
      `id: ${now === undefined ? nameWith(name, before) : name + now}:${Number(number) + before}`,
  );
}
