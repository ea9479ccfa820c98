import { describe, expect, test } from "bun:test";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { startImpatientWorker } from "../../harness/impatient-worker.ts";
import { type Child, startProcess } from "../../harness/process.ts";
import {
  aftermathOf,
  callsOf,
  type Installation,
  processWaitMs,
  sharedRedisUrl,
  startInstallation,
  type Turn,
} from "../../harness/processes.ts";
import { expectBroken, expectFree, expectWhole, isClaimed } from "../../harness/turn-checks.ts";

/** A worker that stands in a turn whose answer says `stands-here`. */
async function startStanding(installation: Installation, frozenMs: number, standsMs: number): Promise<Child> {
  const words = ["test/harness/standing-worker.ts", String(frozenMs), "stands-here", String(standsMs)];
  const standing = startProcess(process.execPath, words, installation.env);
  await standing.prints(/"msg":"working"/);
  return standing;
}

/** The words are in the model's answer alone, not in the question. */
const hostileText = 'text="stands\\u002dhere"';

async function expectBlamed({ sql }: Installation, turn: Turn, standing: Child): Promise<void> {
  await turn.stream.closed;
  expectBroken(turn);
  expect(await aftermathOf(sql, turn.turnId)).toMatchObject({ status: "failed", attempt: 1 });
  const [failed] = await sql`select error from turns where id = ${turn.turnId}`;
  const message = "The turn kept its worker from answering, and is not run again.";
  expect(failed?.error).toEqual({ code: "provider_error", message });
  const line = `"turnId":"${turn.turnId}","msg":"the event loop of this worker stands in a turn"`;
  expect(standing.stdout()).toContain(line);
}

describe.skipIf(sharedRedisUrl === null)("a turn in which its worker stands", () => {
  test.concurrent("until that is ended is given to no other one; the turns beside it are", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    // Instead of 30 s.
    const frozenMs = 6_000;
    await using started = new AsyncDisposableStack();
    const standing = await startStanding(installation, frozenMs, 600_000);
    started.defer(() => standing.kill());
    const beside = await c.turn(`beside ${heldMark} [[sim: text="fine"]]`);
    await eventually(() => callsOf(installation.model, `beside ${heldMark}`) === 1, processWaitMs);
    const hostile = await c.turn(`[[sim: ${hostileText}]]`);
    await isClaimed(installation, hostile.turnId);
    started.use(await startImpatientWorker(installation, frozenMs));
    await expectBlamed(installation, hostile, standing);
    await eventually(() => callsOf(installation.model, `beside ${heldMark}`) === 2, processWaitMs);
    model.release();
    await beside.stream.closed;
    expectWhole(beside, "fine");
    expect(await aftermathOf(installation.sql, beside.turnId)).toMatchObject({ status: "succeeded", attempt: 2 });
    await expectFree(c, hostile.sessionId);
  }, 120_000);

  test.concurrent("and that nobody ends fails once its worker goes on", async () => {
    await using installation = await startInstallation();
    const c = await installation.client((await installation.serve()).url);
    await using started = new AsyncDisposableStack();
    const standing = await startStanding(installation, 2_000, 3_000);
    started.defer(() => standing.kill());
    const hostile = await c.turn(`[[sim: ${hostileText} hangAfterChunks=1]]`);
    await expectBlamed(installation, hostile, standing);
    await expectFree(c, hostile.sessionId);
  }, 120_000);
});
