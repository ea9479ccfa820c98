import { SharedSlots } from "../async/shared-slots.ts";
import { databaseWaitMs } from "../limits.ts";
import { tooMany } from "./too-many.ts";

/** A body above this is large; one that does not announce its length counts as large too. */
export const largeBodyBytes = 1024 * 1024;
/** Large bodies of one tenant that a process reads, or holds in memory, at once; the others wait unread. */
export const largeBodiesMax = 4;

const places = new SharedSlots(Number.POSITIVE_INFINITY, largeBodiesMax);

/**
 * Waits until a request's body may be read, and returns the function that makes its place
 * free; a small body waits for nothing. Reading one of 8 MiB takes some 5 ms of the event
 * loop, most of them in the runtime: of 64 at once every other request would wait for all.
 * Throws 429 `rate_limited` after `databaseWaitMs`.
 */
export async function takeBodyPlace(request: Request, tenantId: string): Promise<() => void> {
  const announced = request.headers.get("content-length");
  const size = announced === null && request.body !== null ? Number.POSITIVE_INFINITY : Number(announced ?? 0);
  if (size <= largeBodyBytes) return () => {};
  return places.take(tenantId, AbortSignal.timeout(databaseWaitMs)).catch(() => {
    throw tooMany("The tenant sends too many large bodies at once.", largeBodiesMax);
  });
}
