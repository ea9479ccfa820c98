import { chunksOfEvents, eventNameOf, formatEvent, type LogKey, lastOf, type Relay } from "./relay.ts";

/** Later than every claim: once a turn has ended, no worker writes its log. */
const lastClaim = 2 ** 31 - 1;
/** What a log holds is read for at most this long, in milliseconds; then it is not closed. */
const readMsMax = 5_000;

/**
 * Completes the log of a turn that another process than its worker has ended, with what `closing`
 * returns for the chunks so far, and its last chunk. A log that was sealed stays as it is, and each
 * reader is given the chunk. Returns how many events the complete log has; null when the relay has
 * none of it. Rejects when the relay is away.
 */
export async function completeLog(
  relay: Relay,
  key: LogKey,
  lastChunk: unknown,
  closing: (chunks: readonly unknown[]) => Promise<readonly unknown[]> = async () => [],
): Promise<number | null> {
  const { tail, state } = await relay.fence(key, lastClaim);
  if (tail === 0) return null;
  if (state === "ended") return tail;
  if (state !== "open") return tail + 1;
  const chunks = [...(await closing(await readChunks(relay, key, tail))), lastChunk];
  const sse = chunks.map((chunk, index) => formatEvent(eventNameOf(key), tail + 1 + index, chunk)).join("");
  await relay.end({ ...key, claim: lastClaim }, { first: tail + 1, count: chunks.length, sse });
  return tail + chunks.length;
}

/** Returns the chunks of a log up to an event; none where not all of them are there. */
async function readChunks(relay: Relay, key: LogKey, tail: number): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const item of relay.follow(key, 1, AbortSignal.timeout(readMsMax))) {
    if (item.type !== "batch") return [];
    chunks.push(...chunksOfEvents(item.batch.sse));
    if (lastOf(item.batch) >= tail) return chunks;
  }
  return [];
}
