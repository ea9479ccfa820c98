import { afterAll } from "bun:test";
import { randomBytes } from "node:crypto";
import { openRuntime } from "../../src/roles/open-runtime.ts";
import { findMissing } from "../../src/workspaces/bubblewrap/missing.ts";
import type { RuntimeName } from "../../src/workspaces/runtime.ts";
import { type Harness, type HarnessOptions, startHarness } from "./harness.ts";
import { type Child, startRole } from "./process.ts";

/** Why this machine cannot run programs in sandboxes; null when it can. Tests of programs are skipped then. */
export const missingForPrograms = await findMissing();

/** The runtimes that run real programs and can do so here. */
export const realRuntimes: readonly RuntimeName[] = missingForPrograms === null ? ["bubblewrap", "remote"] : [];

/** A harness whose commands run in one of the runtimes, closed after the last test of the file. */
export async function useRuntime(runtime: RuntimeName, options: HarnessOptions = {}): Promise<Harness> {
  const opened = new AsyncDisposableStack();
  const env: Record<string, string> = { SANDBOX: runtime, ...options.env };
  if (runtime === "remote" && env.SANDBOX_URL === undefined) {
    const host = await startSandboxHost(options.env);
    opened.defer(() => host.child.kill());
    Object.assign(env, { SANDBOX_URL: host.url, SANDBOX_TOKEN: host.token });
  }
  const h = await startHarness({ ...options, env });
  await openRuntime(h.ctx.config, h.ctx.log, opened);
  afterAll(async () => {
    await opened.disposeAsync();
    await h.stop();
  });
  return h;
}

/** A host of sandboxes, as an operator starts it. */
export interface RunningSandboxHost {
  readonly child: Child;
  readonly url: string;
  readonly token: string;
}

/** Starts a host of sandboxes, on a free port where `env` names none. */
export async function startSandboxHost(env: Record<string, string> = {}): Promise<RunningSandboxHost> {
  const token = env.SANDBOX_TOKEN ?? randomBytes(24).toString("base64url");
  const child = startRole("sandbox", { PORT: "0", SANDBOX_TOKEN: token, ...env });
  const [, url = ""] = await child.prints(/"url":"(http:[^"]+)".*"running commands"/);
  return { child, url, token };
}
