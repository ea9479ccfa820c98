import { eventNameOf, formatEvent, type LogKey, type Relay } from "./relay.ts";

/** Later than every claim: once a turn has ended, no worker writes its log. */
const lastClaim = 2 ** 31 - 1;

/**
 * Completes the log of a turn that another process than its worker has ended, with its last
 * chunk. A log that was sealed stays as it is, and each reader is given the chunk. Returns how
 * many events the complete log has; null when the relay has none of it. Rejects when the relay
 * is away.
 */
export async function completeLog(relay: Relay, key: LogKey, lastChunk: unknown): Promise<number | null> {
  const { tail, state } = await relay.fence(key, lastClaim);
  if (tail === 0) return null;
  if (state === "ended") return tail;
  const sse = formatEvent(eventNameOf(key), tail + 1, lastChunk);
  if (state === "open") await relay.end({ ...key, claim: lastClaim }, { first: tail + 1, count: 1, sse });
  return tail + 1;
}
