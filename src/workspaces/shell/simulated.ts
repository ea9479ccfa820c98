import type { CommandRequest, RunOptions, Runtime, RuntimeResult } from "../runtime.ts";
import { runJob, withJobSlot } from "./host.ts";

/** The simulated shell: it needs nothing of the host, and has no other programs than its own. */
export const simulated: Runtime = {
  isReal: false,
  inPlace: withJobSlot,
  run: async (request: CommandRequest, options: RunOptions): Promise<RuntimeResult> => {
    const { command, stdin, timeoutMs, files, folders } = request;
    const result = await runJob({ kind: "command", command, stdin, timeoutMs, files, folders }, options);
    return { ...result, kept: async () => {} };
  },
  close: async () => {},
};
