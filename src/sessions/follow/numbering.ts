/**
 * The events of a stream are numbered per turn log: `<log>:<n>`. A reader that comes within a
 * continuation gets the message so far before the continuation's own events; `<log>+<k>:<n>`
 * says so: `k` events stand before the log's first, so that event `n` is the log's `n - k`.
 *
 * The stored message is divided in another way, so its events have names that no log's have:
 * `<log>+stored:<n>` once the turn has ended, when the message stays as it is. `<log>+now:<n>`
 * is an event of what was known at that moment; nobody can go on after it, so a reader that
 * comes back with one gets the whole from `start` on.
 */
export interface EventPlace {
  readonly logId: string;
  readonly before: number | "stored";
  /** The number of the next event; 0, the whole sequence, where the last one's is no number. */
  readonly next: number;
}

/** Returns the place behind the request's `Last-Event-ID`; null when there is none. */
export function placeAfter(request: Request): EventPlace | null {
  const id = request.headers.get("last-event-id") ?? "";
  const [, logId, before, number] =
    /^((?:turn|cont)_[0-9a-z]{1,40})(?:\+(\d{1,9}|stored|now))?(?::(\d{1,9})?.*)?$/.exec(id) ?? [];
  if (logId === undefined) return null;
  if (before === "now") return { logId, before: "stored", next: 0 };
  const whole = number === undefined || !id.endsWith(`:${number}`);
  return { logId, before: before === "stored" ? before : Number(before ?? 0), next: whole ? 0 : Number(number) + 1 };
}

/** Returns the name under which a log's events are numbered when so many others stand before them, or those of what is stored. */
export function nameWith(logId: string, before: EventPlace["before"] | "now"): string {
  return before === 0 ? logId : `${logId}+${before}`;
}

/** Returns events of a log with the numbers that they have when so many others stand before them. */
export function renumbered(sse: string, logId: string, before: number): string {
  if (before === 0) return sse;
  const name = nameWith(logId, before);
  // JSON has no raw line break, so only an event's own first line begins like this.
  return sse.replaceAll(
    new RegExp(`^id: ${logId}(\\+now)?:(\\d+)$`, "gm"),
    (_, now, number) => `id: ${now === undefined ? name : logId + now}:${Number(number) + before}`,
  );
}
