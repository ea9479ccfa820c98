import { setImmediate } from "node:timers";
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
  return pino(options, destination ?? gatheredOutput());
}

/** This many characters of lines are written at once, without waiting for more. */
const gatheredMax = 65_536;
let output: DestinationStream | null = null;

/**
 * Returns standard output, to which the lines of one turn of the event loop go in one write: with 50
 * clients a line's own write was 5 % of what the HTTP process did. What waits is written when the process exits.
 */
function gatheredOutput(): DestinationStream {
  if (output !== null) return output;
  let lines = "";
  const flush = () => {
    if (lines !== "") process.stdout.write(lines);
    lines = "";
  };
  process.on("exit", flush);
  output = {
    write(line) {
      if (lines === "") setImmediate(flush);
      lines += line;
      if (lines.length > gatheredMax) flush();
    },
  };
  return output;
}
