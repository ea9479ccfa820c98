import { expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { startSilent } from "../servers/silent.ts";

/** More than a Bun process has under way by itself. */
const callsAtOnce = 300;

test.skipIf(sharedRedisUrl === null)(
  "a worker calls as many models at once as it has slots, and beside them whoever else it has to",
  async () => {
    await using installation = await startInstallation();
    const model = await startSilent((body) => (body.includes("say nothing") ? "at once" : null));
    await using opened = new AsyncDisposableStack();
    opened.defer(model.stop);
    const c = await installation.client((await installation.serve()).url, model.url);
    const worker = await installation.work({ WORKER_CONCURRENCY: String(2 * callsAtOnce), DRAIN_SECONDS: "1" });
    for (let accepted = 0; accepted < callsAtOnce; accepted++) {
      // Who asked does not have to wait: the turn goes on.
      const { stream } = await c.turn("say nothing");
      await stream.leave();
    }
    await eventually(() => model.open.size === callsAtOnce, 60_000);
    // Still the process that was started, although it started once more with the runtime's limit lifted.
    const [row] = await installation.sql`select pid from workers`;
    expect(row).toEqual({ pid: worker.pid });
  },
  120_000,
);
