import type { Config } from "../kernel/config.ts";
import type { Runtime } from "./runtime.ts";
import { simulated } from "./shell/simulated.ts";

/** The runtimes that this process has opened, each for the configuration that asked for it. */
const opened = new WeakMap<Config["sandbox"], Runtime>();

/** Says what commands of a configuration run in, as long as it is open. */
export function setRuntime({ sandbox }: Pick<Config, "sandbox">, runtime: Runtime): void {
  opened.set(sandbox, runtime);
}

/** Returns what commands run in. */
export function runtimeOf({ sandbox }: Pick<Config, "sandbox">): Runtime {
  const runtime = opened.get(sandbox);
  if (runtime !== undefined) return runtime;
  if (sandbox.runtime === "simulated") return simulated;
  throw new Error(`The runtime ${sandbox.runtime} is not open in this process.`);
}
