import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger };

/** The levels `LOG_LEVEL` may name. */
export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Paths that hold credentials wherever they might be logged; pino prints `[redacted]` in their place. */
const redactedPaths = [
  "authorization",
  "*.authorization",
  "headers.authorization",
  "apiKey",
  "*.apiKey",
  "token",
  "*.token",
  "credential",
  "*.credential",
];

/** Returns a logger that writes one JSON line for each event. `destination` is for tests; the default is standard output. */
export function createLogger(level: (typeof logLevels)[number], destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service: "parley" },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redactedPaths, censor: "[redacted]" },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
