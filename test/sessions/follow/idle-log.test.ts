import { describe, expect, test } from "bun:test";
import { discardJob } from "../../../src/installation/discard-job.ts";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { chunksOfEvents, formatEvent, type LogKey } from "../../../src/kernel/relay/relay.ts";
import { TurnWatch } from "../../../src/sessions/follow/watch.ts";
import { useAgent } from "../../harness/fixture.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { open, script, sessionPath } from "../../harness/turns.ts";

const relay = new MemoryRelay();
const { h, t, agentId } = await useAgent({ relay });

/** A queued turn that nobody follows. */
async function queuedTurn(sessionId: string | null = null, more: object = {}) {
  const body = { message: script("text=never"), ...more };
  const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body });
  await live.leave();
  return live;
}

/** What a log holds once it has an end. */
async function wholeLog(key: LogKey): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const item of relay.follow(key, 1, AbortSignal.timeout(20_000))) {
    if (item.type === "batch") chunks.push(...chunksOfEvents(item.batch.sse));
    if (item.type === "end") return chunks;
  }
  throw new Error(`Nobody has ended ${key.logId}.`);
}

describe.skipIf(!inProcess)("the log of a turn that ended while no worker had it", () => {
  test("is ended by a cancellation of many, of the line too, though nobody follows it", async () => {
    const { sessionId, turnId } = await queuedTurn();
    const enqueued = await queuedTurn(sessionId, { onBusy: "enqueue" });
    expect((await t.call("POST", "/v1/turns/cancel", { body: { sessionId } })).body).toEqual({ canceled: 2 });
    for (const logId of [turnId, enqueued.turnId])
      expect(await wholeLog({ logId, attempt: 1 })).toEqual([{ type: "abort" }]);
  });

  test("is ended by the process of a follower where nobody else did", async () => {
    const { turnId } = await queuedTurn();
    // It was handed back after a completed step.
    await h.sql`update turns set attempt = 1, log_attempt = 1, steps_done = 1, step_events = 1 where id = ${turnId}`;
    const key = { logId: turnId, attempt: 1 };
    const shown = { type: "text-start", id: "txt-0" };
    await relay.append(key, { first: 1, count: 1, sse: formatEvent(turnId, 1, shown) });
    const [job] = await h.sql<{ id: string }[]>`
      select id::text from graphile_worker._private_jobs where payload ->> 'turnId' = ${turnId}`;
    expect(await discardJob(h.sql, job?.id ?? "")).toBe("turn");
    const forget = new TurnWatch({ sql: h.sql, relay }).watch(turnId, 1, () => {});
    expect(await wholeLog(key)).toEqual([
      shown,
      { type: "text-end", id: "txt-0" },
      { type: "error", errorText: "The operator took this out of the queue." },
    ]);
    forget();
  });
});
