import { setImmediate } from "node:timers";
import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger };

/** The levels `LOG_LEVEL` may name. */
export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Names of fields that hold credentials wherever they might be logged. */
const credentialFields = ["authorization", "apiKey", "token", "credential"];
const censored = "[redacted]";

/** Returns a logger that writes one JSON line for each event. `destination` is for tests; the default is standard output. */
export function createLogger(level: (typeof logLevels)[number], destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service: "parley" },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: withoutCredentials },
    serializers: {
      ...Object.fromEntries(credentialFields.map((name) => [name, () => censored])),
      err: (error: Error) => censor(pino.stdSerializers.err(error)),
    },
  };
  return pino(options, destination ?? gatheredOutput());
}

/**
 * Returns the fields of a line with `[redacted]` in the place of credentials one level below; pino's serializers see to those of the
 * line itself. pino's own `redact` reads its paths anew for each line, which took 7 of a line's 9 µs.
 */
function withoutCredentials(fields: Record<string, unknown>): Record<string, unknown> {
  let shown = fields;
  for (const [name, value] of Object.entries(fields)) {
    // An error is read by its serializer.
    if (typeof value !== "object" || value === null || value instanceof Error) continue;
    const below = censor(value);
    if (below === value) continue;
    if (shown === fields) shown = { ...fields };
    shown[name] = below;
  }
  return shown;
}

/** Returns the fields themselves where none of them is a credential, else a copy. */
function censor<T extends object>(fields: T): T {
  const found = credentialFields.filter((name) => Object.hasOwn(fields, name));
  return found.length === 0 ? fields : { ...fields, ...Object.fromEntries(found.map((name) => [name, censored])) };
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
