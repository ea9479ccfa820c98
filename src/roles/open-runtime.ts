import { fileURLToPath } from "node:url";
import type { Config } from "../kernel/config.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { type BubblewrapRuntime, NoSandboxError, openBubblewrap } from "../workspaces/bubblewrap/open.ts";
import { RemoteRuntime } from "../workspaces/remote/client.ts";
import { setRuntime } from "../workspaces/runtimes.ts";
import { warnIfUnconfined } from "../workspaces/shell/process.ts";
import { OperatorError } from "./operator-error.ts";

/**
 * Opens what commands of workspaces run in, closes it with `opened`, and returns what it is, in a few words that the log has too. Throws
 * `OperatorError` where it cannot work.
 */
export async function openRuntime(config: Config, log: Logger, opened: AsyncDisposableStack): Promise<string> {
  const { runtime, urls, token } = config.sandbox;
  if (runtime === "bubblewrap") {
    const programs = await openPrograms(config, log, opened);
    setRuntime(config, programs);
    return programs.said;
  }
  const said = runtime === "simulated" ? "a simulated shell" : urls.map((url) => new URL(url).host).join(", ");
  log.info({ runtime }, `commands run in ${said}`);
  if (runtime === "simulated") void warnIfUnconfined(log);
  else setRuntime(config, new RemoteRuntime({ urls, token: token ?? "" }));
  return said;
}

/** Opens the runtime that runs programs on this host, closed with `opened`. Throws `OperatorError` where it cannot work. */
export async function openPrograms(
  config: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<BubblewrapRuntime> {
  const { limits, places, cacheMib } = config.sandbox;
  const code = fileURLToPath(new URL("../../", import.meta.url).href);
  const hidden = [code, process.cwd(), config.home];
  const options = { limits, places, cacheMib, hidden };
  const runtime = await openBubblewrap(options, log).catch((error: unknown) => {
    throw error instanceof NoSandboxError ? new OperatorError(error.message) : error;
  });
  opened.defer(() => runtime.close());
  return runtime;
}
