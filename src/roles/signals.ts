import type { ParentScript } from "../kernel/config.ts";

/** The signals that ask a process to end: Ctrl-C in a terminal, a supervisor's stop, a terminal that closes. */
const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/**
 * One Ctrl-C reaches a process twice when npm stands between it and the terminal: from the terminal's group
 * and from npm, which passes it on. Signals this close together are one.
 */
const sameSignalMs = 700;
/** How often it is checked whether the parent lives. */
const parentPollMs = 1_000;

/** How a process is asked to end. */
export interface StopRequests {
  /** Resolves at the first request, with what it was. */
  readonly first: Promise<string>;
  /** Resolves at a second one, with what it was: the one who asks twice does not want to wait for the drain. */
  readonly second: Promise<string>;
}

/**
 * Listens for the requests to end. For a process that a package manager runs as a script,
 * the manager's death is one too: a manager that is killed passes no signal on, and its script would go on running unnoticed.
 */
export function listenForStop(parentScript: ParentScript): StopRequests {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  let firstAt: number | null = null;
  const ask = (how: string) => {
    if (firstAt === null) {
      firstAt = Date.now();
      first.resolve(how);
    } else if (Date.now() - firstAt > sameSignalMs) second.resolve(how);
  };
  for (const signal of endingSignals) process.on(signal, () => ask(signal));
  if (parentScript !== null) watchParent(() => ask(`the end of ${parentScript}`));
  return { first: first.promise, second: second.promise };
}

function watchParent(gone: () => void): void {
  const parent = process.ppid;
  const poll = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(poll);
    gone();
  }, parentPollMs);
  poll.unref();
}
