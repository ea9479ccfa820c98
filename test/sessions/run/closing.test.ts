import { expect, test } from "bun:test";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { Actor } from "../../../src/sessions/run/actor.ts";
import { useAgent } from "../../harness/fixture.ts";
import { writeQueuedTurn } from "../../harness/queued-turn.ts";

const { h, t, agentId } = await useAgent();

test("a worker that closes right after its last turn says nothing of that turn's lock", async () => {
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const actor = new Actor({ databaseUrl: h.databaseUrl, slots: 1, pool: h.sql, log });
  await actor.start();
  const running = await actor.claim({ ...(await writeQueuedTurn(h, t, agentId)), way: "job" });
  if (typeof running === "string") throw new Error(running);
  await actor.run(running, () => Promise.resolve());
  await actor.close();
  expect(lines).toEqual([]);
});
