import { type Config, ConfigError, readConfig } from "../kernel/config.ts";
import { createLogger, type Logger } from "../kernel/telemetry/log.ts";
import { watchForStalls } from "../kernel/telemetry/stalls.ts";
import { OperatorError } from "./operator-error.ts";
import { listenForStop } from "./signals.ts";

/** Starts a process of this role. What it opens is put on `opened` and closed in reverse order. `end` asks the process to end, as a signal does. */
export type Role = (
  config: Config,
  log: Logger,
  opened: AsyncDisposableStack,
  end: (reason: string) => void,
) => Promise<void>;

interface RoleOptions {
  /** The level of logs where `LOG_LEVEL` sets none. */
  readonly logLevel: Config["logLevel"];
  /** Whether the console is on where `CONSOLE` does not say. */
  readonly console?: boolean;
}

/** What is closed after the drain (connections, the embedded Postgres) gets this long together. */
export const closeMs = 20_000;
/** Exit status after a second signal: the shell's for an interrupted program. */
const interruptedStatus = 130;

/**
 * Runs a role until it is asked to end: opens it, waits for a signal, closes what it opened and exits 0.
 * A start that fails closes what is open by then, prints one line and exits 1; a second signal exits at once with 130.
 */
export async function runRole(role: Role, options: RoleOptions = { logLevel: "info" }): Promise<never> {
  try {
    const config = readConfig(undefined, options);
    const log = createLogger(config.logLevel);
    const stop = listenForStop(config.parentScript);
    void stop.second.then(() => process.exit(interruptedStatus));
    const opened = new AsyncDisposableStack();
    const ended = Promise.withResolvers<string>();
    try {
      opened.defer(watchForStalls(log));
      if (config.collectorUrl !== null) await traceTo({ ...config, endpoint: config.collectorUrl }, opened);
      await role(config, log, opened, ended.resolve);
    } catch (error) {
      await opened.disposeAsync();
      throw error;
    }
    log.info({ reason: await Promise.race([stop.first, ended.promise]) }, "stopping");
    setTimeout(
      () => {
        log.error("not everything could be closed in time");
        process.exit(1);
      },
      config.drainSeconds * 1000 + closeMs,
    );
    await opened.disposeAsync();
    log.info("stopped");
    return process.exit(0);
  } catch (error) {
    return fail(error);
  }
}

/** Starts to send traces. It is the first on `opened`, so what the others do while they close is traced too. The SDK is loaded only here. */
async function traceTo(
  { endpoint, serviceName, tracesContent: content }: { endpoint: string; serviceName: string; tracesContent: boolean },
  opened: AsyncDisposableStack,
): Promise<void> {
  const { startTracing } = await import("../kernel/telemetry/trace-export.ts");
  opened.defer(await startTracing({ endpoint, serviceName, content }));
}

/** Prints why a role cannot run and ends the process with 1. An error that the operator can correct is printed without its stack. */
export function fail(error: unknown): never {
  const known = error instanceof ConfigError || error instanceof OperatorError;
  const text = known ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`parley: ${text}\n`);
  process.exit(1);
}
