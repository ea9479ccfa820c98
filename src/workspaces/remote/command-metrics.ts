import { Counter, Gauge } from "prom-client";
import { registry } from "../../kernel/telemetry/metrics.ts";
import type { BubblewrapRuntime } from "../bubblewrap/open.ts";

const registers = [registry];

export const commandsEnded = new Counter({
  name: "parley_sandbox_commands_total",
  help: "Requests for commands at a host of sandboxes, by what became of them; need: they came again with their files.",
  labelNames: ["outcome"],
  registers,
});

/** Tells what a host of sandboxes runs and keeps, at each scrape. */
export function measureSandboxes(runtime: BubblewrapRuntime): void {
  new Gauge({
    name: "parley_sandbox_places",
    help: "Commands that a host of sandboxes runs at once, by whether one runs in the place.",
    labelNames: ["state"],
    registers,
    collect() {
      const { running, places } = runtime.state;
      this.set({ state: "used" }, running);
      this.set({ state: "free" }, Math.max(0, places - running));
    },
  });
  new Gauge({
    name: "parley_sandbox_kept_bytes",
    help: "What a host of sandboxes keeps of workspaces between commands.",
    registers,
    collect() {
      this.set(runtime.state.bytes);
    },
  });
}
