import type { Logger } from "./log.ts";
import { eventLoopStalls } from "./metrics.ts";
import { takeBegun } from "./work.ts";

/** A stall is told when the event loop stood for longer. */
const stallMsMin = 200;
/** And when the process itself computed for so long meanwhile: one that the system stopped, on a busy host, was not held up by what it read. */
const computedMsMin = 100;
/** How often the watchdog looks; a stall is seen as soon as it is over, and may have begun so much earlier than it looks. */
const lookEveryMs = 20;

/**
 * Watches the event loop of this process. When it stood for more than 200 ms and computed for 100 ms of them or more, one line in
 * the log says for how long, how much of that was computed, what was begun last before and for whom, and the metric
 * `parley_event_loop_stalls_total` counts it. Returns the function that ends the watch. A look takes some microseconds.
 */
export function watchForStalls(log: Logger): () => void {
  let lookedMs = performance.now();
  let cpu = process.cpuUsage();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const ms = Math.round(nowMs - lookedMs);
    const { user, system } = process.cpuUsage(cpu);
    const begun = takeBegun();
    lookedMs = nowMs;
    cpu = process.cpuUsage();
    const cpuMs = Math.round((user + system) / 1000);
    if (ms <= stallMsMin + lookEveryMs || cpuMs < computedMsMin) return;
    eventLoopStalls.inc();
    log.warn({ ms, cpuMs, doing: begun?.doing, ...begun?.work }, "the event loop stood");
  }, lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}
