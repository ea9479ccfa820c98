import { expect, test } from "bun:test";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { startBareWorker } from "../../harness/bare-worker.ts";
import { useAgent } from "../../harness/fixture.ts";
import { writeQueuedTurn } from "../../harness/queued-turn.ts";

const { h, t, agentId } = await useAgent();

test("a worker that closes right after its last turn says nothing of that turn's lock", async () => {
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const { connection, turns } = await startBareWorker(h, { slots: 1, log });
  const running = await turns.claim({ ...(await writeQueuedTurn(h, t, agentId)), way: "job" });
  if (typeof running === "string") throw new Error(running);
  await turns.run(running, () => Promise.resolve());
  await connection.close();
  expect(lines).toEqual([]);
});
