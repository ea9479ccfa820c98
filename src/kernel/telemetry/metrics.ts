import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { version } from "../version.ts";

/**
 * What a process counts of itself, for Prometheus. One registry a process,
 * because a process is what is scraped. Every label has few values, known in this
 * source: no id, no name that a tenant chose. What Postgres knows of the whole
 * installation (the queue) is read at the scrape, in `kernel/queue/gauges.ts`.
 */
export const registry = new Registry();
const registers = [registry];

/** From a millisecond to the 10 s after which a request is 503. */
const requestBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Models answer after tenths of seconds, or after minutes where they think. */
const firstChunkBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Turns often last up to 20 minutes, and 6 hours at most. */
const turnBuckets = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_200, 3_600, 21_600];
/** A healthy relay adds a millisecond; the higher buckets are for one that is overloaded. */
const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

new Gauge({
  name: "parley_build_info",
  help: "Always 1; the label says which version this process runs.",
  labelNames: ["version"],
  registers,
}).set({ version }, 1);

export const httpRequests = new Histogram({
  name: "parley_http_request_duration_seconds",
  help: "Time until a request's response headers, by method, route pattern and status class.",
  labelNames: ["method", "route", "status"],
  buckets: requestBuckets,
  registers,
});

export const turnsEnded = new Counter({
  name: "parley_turns_total",
  help: "Turns that ended in this process, or (outcome waiting) stopped to ask a person, by the door they came through.",
  labelNames: ["outcome", "kind"],
  registers,
});

export const turnsFailed = new Counter({
  name: "parley_turn_failures_total",
  help: "Turns that failed, by the cause that their error names.",
  labelNames: ["code"],
  registers,
});

/** By the kind of provider and what came of it: a status that says something by itself, else its class. */
export const modelRequests = new Counter({
  name: "parley_model_requests_total",
  help: "Requests of this process to model providers, by the provider's type and its response's status; unreachable where none came.",
  labelNames: ["provider", "status"],
  registers,
});

export const turnQueueWait = new Histogram({
  name: "parley_turn_queue_wait_seconds",
  help: "Time from a turn's acceptance to a worker's claim of it, by the database's clock.",
  buckets: lagBuckets.concat(30, 300),
  registers,
});

export const turnFirstChunk = new Histogram({
  name: "parley_turn_first_chunk_seconds",
  help: "Time from a turn's acceptance to the first chunk that shows something.",
  buckets: firstChunkBuckets,
  registers,
});

export const turnDuration = new Histogram({
  name: "parley_turn_duration_seconds",
  help: "Time from a worker's claim of a turn, or of its continuation, to the commit of what came of it.",
  labelNames: ["outcome"],
  buckets: turnBuckets,
  registers,
});

export const relayLag = new Histogram({
  name: "parley_relay_lag_seconds",
  help: "Time from the first chunk of a batch, at its writer, to the batch's arrival in a process that follows it. Between machines it is as exact as their clocks.",
  buckets: lagBuckets,
  registers,
});

export const relayErrors = new Counter({
  name: "parley_relay_errors_total",
  help: "What this process could not write to the relay: Redis refused it (it is full, a replica or in trouble), or was not reached.",
  labelNames: ["reason"],
  registers,
});

export const relayUp = new Gauge({
  name: "parley_relay_up",
  help: "Whether this process reaches the relay (Redis): 1, or 0.",
  registers,
});

export const followersOpen = new Gauge({
  name: "parley_followers_open",
  help: "Readers that follow a turn in this process.",
  registers,
});

/** Whether this process runs turns, and how many. */
let slotsOfWorker: () => { readonly used: number; readonly slots: number } | null = () => null;

new Gauge({
  name: "parley_worker_slots",
  help: "Slots of this worker for turns, used and free.",
  labelNames: ["state"],
  registers,
  collect() {
    const now = slotsOfWorker();
    if (now === null) return this.reset();
    this.set({ state: "used" }, now.used);
    this.set({ state: "free" }, Math.max(0, now.slots - now.used));
  },
});

/** Begins to measure the slots of a worker; `read` says how they are. */
export function measureSlots(read: typeof slotsOfWorker): void {
  slotsOfWorker = read;
}

export const sessionsHeld = new Gauge({
  name: "parley_sessions_held",
  help: "Sessions whose advisory lock this worker holds: the turns that it runs now.",
  registers,
});

export const jobs = new Histogram({
  name: "parley_job_duration_seconds",
  help: "Time that a job of the queue ran in this worker, by task and result.",
  labelNames: ["task", "result"],
  buckets: turnBuckets,
  registers,
});

export const webhookAttempts = new Counter({
  name: "parley_webhook_attempts_total",
  help: "Attempts of this worker to deliver an event to a webhook, by result.",
  labelNames: ["result"],
  registers,
});

export const reaperActions = new Counter({
  name: "parley_reaper_actions_total",
  help: "What this worker's reaper did for lost workers, turns and jobs.",
  labelNames: ["action"],
  registers,
});

export const eventLoopStalls = new Counter({
  name: "parley_event_loop_stalls_total",
  help: "How often the event loop of this process stood for more than 200 ms; the log says in what.",
  registers,
});

/** Begins to measure process and runtime: memory, processor time, file descriptors, event loop lag. For processes that are scraped. */
export function measureProcess(): void {
  if (registry.getSingleMetric("process_cpu_seconds_total") === undefined)
    collectDefaultMetrics({ register: registry });
}
