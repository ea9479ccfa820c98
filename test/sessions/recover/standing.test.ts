import { expect, test } from "bun:test";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { startImpatientWorker } from "../../harness/impatient-worker.ts";
import { startProcess } from "../../harness/process.ts";
import { aftermathOf, callsOf, processWaitMs, sharedRedisUrl, startInstallation } from "../../harness/processes.ts";
import { expectBroken, expectFree, expectWhole, isClaimed } from "../../harness/turn-checks.ts";

/** Instead of 30 s. */
const frozenMs = 6_000;

test.skipIf(sharedRedisUrl === null)(
  "a turn in which its worker stands until that is ended is given to no other one; the turns beside it are",
  async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    const words = ["test/harness/standing-worker.ts", String(frozenMs), "stands-here"];
    const standing = startProcess(process.execPath, words, installation.env);
    await using pools = new AsyncDisposableStack();
    pools.defer(() => standing.kill());
    await standing.prints(/"msg":"working"/);
    const beside = await c.turn(`beside ${heldMark} [[sim: text="fine"]]`);
    await isClaimed(installation, beside.turnId);
    await eventually(() => callsOf(installation.model, `beside ${heldMark}`) === 1);
    // The words are in the model's answer alone, not in the question.
    const hostile = await c.turn('[[sim: text="stands\\u002dhere"]]');
    await isClaimed(installation, hostile.turnId);
    pools.use(await startImpatientWorker(installation, frozenMs));
    await hostile.stream.closed;
    expectBroken(hostile);
    expect(await aftermathOf(installation.sql, hostile.turnId)).toMatchObject({ status: "failed", attempt: 1 });
    const [failed] = await installation.sql`select error from turns where id = ${hostile.turnId}`;
    const message = "The turn kept its worker from answering, and is not run again.";
    expect(failed?.error).toEqual({ code: "provider_error", message });
    expect(standing.stdout()).toContain(
      `"turnId":"${hostile.turnId}","msg":"the event loop of this worker stands in a turn"`,
    );
    await eventually(() => callsOf(installation.model, `beside ${heldMark}`) === 2, processWaitMs);
    model.release();
    await beside.stream.closed;
    expectWhole(beside, "fine");
    expect(await aftermathOf(installation.sql, beside.turnId)).toMatchObject({ status: "succeeded", attempt: 2 });
    await expectFree(c, hostile.sessionId);
  },
  120_000,
);
