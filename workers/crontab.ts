import { type CronItem, parseCronItems } from "graphile-worker";
import { type JobName, jobKind } from "../src/kernel/queue/catalogue.ts";

/**
 * Jobs that are added by the clock, by whichever worker is first; the queue adds each once. Times are UTC. One that failed
 * and waits to be tried again is replaced by the next of its kind, which has all its attempts. What is not urgent comes in other
 * minutes: each takes a connection, of which a worker at rest has few.
 */
const items: (CronItem & { task: JobName })[] = [
  { task: "keys.sweep", match: "17 * * * *" },
  { task: "audit.sweep", match: "27 * * * *" },
  { task: "console-sessions.sweep", match: "37 * * * *" },
  { task: "chat.sweep", match: "47 * * * *" },
  { task: "pauses.sweep", match: "* * * * *" },
  { task: "runs.sweep", match: "2,7,12,17,22,27,32,37,42,47,52,57 * * * *" },
  { task: "webhook.sweep", match: "*/5 * * * *" },
  { task: "retention.sweep", match: "* * * * *" },
  { task: "generations.sweep", match: "27 * * * *" },
  { task: "records.sweep", match: "37 3 * * *" },
  { task: "storage.count", match: "* * * * *" },
  { task: "usage.sum", match: "*/5 * * * *" },
];

export const cronItems = parseCronItems(
  items.map((item) => ({ ...item, options: { maxAttempts: jobKind(item.task).attempts, jobKey: item.task } })),
);
