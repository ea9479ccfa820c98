import { expect, test } from "bun:test";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "../harness/harness.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";

/** More than a Bun process has under way by itself. */
const callsAtOnce = 300;

/** A server that knows one model and keeps every call of it open. */
async function startSilentModel() {
  const calls = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") response.end(JSON.stringify({ data: [{ id: "simulated" }] }));
    else calls.add(response.once("close", () => calls.delete(response)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test.skipIf(sharedRedisUrl === null)(
  "a worker calls as many models at once as it has slots, and beside them whoever else it has to",
  async () => {
    await using installation = await startInstallation();
    using model = await startSilentModel();
    const c = await installation.client((await installation.serve()).url, model.url);
    const worker = await installation.work({ WORKER_CONCURRENCY: String(2 * callsAtOnce), DRAIN_SECONDS: "1" });
    for (let accepted = 0; accepted < callsAtOnce; accepted++) {
      // Who asked does not have to wait: the turn goes on.
      const { stream } = await c.turn("say nothing");
      await stream.leave();
    }
    await eventually(() => model.calls.size === callsAtOnce, 60_000);
    // Still the process that was started, although it started once more with the runtime's limit lifted.
    const [row] = await installation.sql`select pid from workers`;
    expect(row).toEqual({ pid: worker.pid });
  },
  120_000,
);
