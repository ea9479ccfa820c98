import { buildConsole } from "../console-server/build.ts";
import { hasPages } from "../console-server/folders.ts";
import type { Config } from "../kernel/config.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { reasonOf } from "./operator-error.ts";

/** Makes the console's pages where the installation came without them. A console without pages is no reason not to start. */
export async function ensureConsolePages(
  config: Pick<Config, "console">,
  log: Logger,
  folders: readonly string[],
): Promise<void> {
  if (!config.console || folders.some(hasPages)) return;
  let reason: unknown;
  for (const folder of folders) {
    try {
      return await buildConsole(folder);
    } catch (error) {
      reason = error;
    }
  }
  log.warn({ reason: reasonOf(reason) }, "the console has no pages: run `npm run build:console`");
}
