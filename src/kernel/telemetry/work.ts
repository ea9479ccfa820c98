import { AsyncLocalStorage } from "node:async_hooks";
import { tellWork } from "./told-work.ts";

/** For whom a process works: a request, a turn or another job. Fields are filled in as they become known. */
export interface Work {
  readonly requestId?: string | null;
  readonly turnId?: string;
  readonly sessionId?: string;
  readonly task?: string;
  tenantId?: string;
  route?: string;
}

const here = new AsyncLocalStorage<Work>();

/** What was begun last on the event loop, and for whom. */
interface Begun {
  doing: string;
  work: Work | null;
}

let begun: Begun | null = null;

/** Runs what is done for somebody: all that it awaits and begins belongs to that too. */
export function workFor<T>(work: Work, doing: string, run: () => T): T {
  begun = { doing, work };
  tellWork(work.turnId ?? null);
  return here.run(work, run);
}

/** Returns for whom this is done; null where it is for no one in particular. */
export function workHere(): Work | null {
  return here.getStore() ?? null;
}

/**
 * Notes what the event loop begins, for the watchdog (`stalls.ts`): before something of which others say how long it
 * takes. It costs some 20 ns, so it may stand on the way of each piece of an answer.
 */
export function noteDoing(doing: string): void {
  const work = here.getStore() ?? null;
  if (begun === null) begun = { doing, work };
  else {
    begun.doing = doing;
    begun.work = work;
  }
  tellWork(work?.turnId ?? null);
}

/** Returns what was begun last since the call before; null when nothing was. */
export function takeBegun(): Begun | null {
  const taken = begun;
  begun = null;
  tellWork(null);
  return taken;
}
