import { fileURLToPath } from "node:url";
import type { Config } from "../kernel/config.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { type BubblewrapRuntime, NoSandboxError, openBubblewrap } from "../workspaces/bubblewrap/open.ts";
import { RemoteRuntime } from "../workspaces/remote/client.ts";
import { setRuntime } from "../workspaces/runtimes.ts";
import { warnIfUnconfined } from "../workspaces/shell/process.ts";
import { OperatorError } from "./operator-error.ts";

/**
 * Opens what commands of workspaces run in, says in the log what that is, and closes it with `opened`. Throws `OperatorError`
 * where it cannot work.
 */
export async function openRuntime(config: Config, log: Logger, opened: AsyncDisposableStack): Promise<void> {
  const { runtime } = config.sandbox;
  if (runtime === "simulated") {
    log.info({ runtime }, "commands run in a simulated shell");
    void warnIfUnconfined(log);
    return;
  }
  if (runtime === "bubblewrap") return setRuntime(config, await openPrograms(config, log, opened));
  const { urls, token } = config.sandbox;
  log.info({ runtime, hosts: urls.length }, `commands run at ${urls.map((url) => new URL(url).host).join(", ")}`);
  setRuntime(config, new RemoteRuntime({ urls, token: token ?? "" }));
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
