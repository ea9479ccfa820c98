import { afterAll } from "bun:test";
import { openRuntime } from "../../src/roles/open-runtime.ts";
import { findMissing } from "../../src/workspaces/bubblewrap/missing.ts";
import type { RuntimeName } from "../../src/workspaces/runtime.ts";
import { type Harness, type HarnessOptions, startHarness } from "./harness.ts";

/** Why this machine cannot run programs in sandboxes; null when it can. Tests of programs are skipped then. */
export const missingForPrograms = await findMissing();

/** A harness whose commands run in one of the runtimes, closed after the last test of the file. */
export async function useRuntime(runtime: RuntimeName, options: HarnessOptions = {}): Promise<Harness> {
  const h = await startHarness({ ...options, env: { SANDBOX: runtime, ...options.env } });
  const opened = new AsyncDisposableStack();
  await openRuntime(h.ctx.config, h.ctx.log, opened);
  afterAll(async () => {
    await opened.disposeAsync();
    await h.stop();
  });
  return h;
}
