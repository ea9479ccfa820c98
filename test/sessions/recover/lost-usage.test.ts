import { describe, expect, test } from "bun:test";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { callsOf, type Installation, sharedRedisUrl, startInstallation, textOf } from "../../harness/processes.ts";
import { hasShown } from "../../harness/turn-checks.ts";

/** Longer than anything takes on a busy machine. */
const waitMs = 45_000;
const testMs = 120_000;
const credit = 1_000_000;

/** What a turn was metered with, once it was; and what its tenant has left. */
function metered({ sql }: Installation, turnId: string) {
  return eventually(async () => {
    const [row] = await sql<
      { inputTokens: number; outputTokens: number; estimated: boolean; modelCalls: number; left: number | null }[]
    >`
      select u.input_tokens, u.output_tokens, u.estimated, t.model_calls, n.usage_credit as left
      from usage u join turns t on t.id = u.turn_id join tenants n on n.id = u.tenant_id where u.turn_id = ${turnId}`;
    return row;
  }, waitMs);
}

async function setCredit({ sql }: Installation, tenantId: string): Promise<void> {
  await sql`update tenants set usage_credit = ${credit} where id = ${tenantId}`;
}

describe.skipIf(sharedRedisUrl === null)("an attempt that did not come to its end is metered", () => {
  test.concurrent(
    "killed in its second step: what is known, once, and an estimate of what broke off, with and without a credit",
    async () => {
      await using installation = await startInstallation();
      const url = (await installation.serve()).url;
      const [rich, free] = [await installation.client(url), await installation.client(url)];
      await setCredit(installation, rich.tenantId);
      const doomed = await installation.work();
      const steps =
        "tool=nothing inputTokens=1000 outputTokens=500; chunks=60 delayMs=100 inputTokens=2000 outputTokens=700";
      const turns = [await rich.turn(`rich [[sim: ${steps}]]`), await free.turn(`free [[sim: ${steps}]]`)] as const;
      for (const turn of turns) await hasShown(turn);
      const shown = turns.map(({ stream }) => Buffer.byteLength(textOf(stream.chunks)));
      await doomed.kill();
      await installation.work();
      for (const { stream } of turns) await stream.closed;
      const all = turns.map(({ stream }) => Buffer.byteLength(textOf(stream.chunks)));
      // The first step is in the row, and the second one when it was made again; what it used before, only the dead worker knew.
      for (const [index, { turnId }] of turns.entries()) {
        const used = await metered(installation, turnId);
        expect(used).toMatchObject({ estimated: true, modelCalls: 3 });
        expect(used.outputTokens).toBeGreaterThanOrEqual(1_200 + Math.ceil((shown[index] ?? 0) / 4));
        expect(used.outputTokens).toBeLessThan(1_200 + (all[index] ?? 0));
        expect(used.inputTokens).toBeGreaterThan(3_010);
        expect(used.inputTokens).toBeLessThan(3_500);
        expect(used.left).toBe(index === 0 ? credit - used.inputTokens - used.outputTokens : null);
      }
    },
    testMs,
  );

  test.concurrent.each(["killed", "drained"] as const)(
    "%s before it showed anything, and run again: the first attempt's prompt is in the turn's usage",
    async (how) => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      await setCredit(installation, c.tenantId);
      const doomed = await installation.work({ DRAIN_SECONDS: "0" });
      const text = `again ${heldMark} ${"lorem ".repeat(100)} [[sim: text="late answer" inputTokens=7 outputTokens=5]]`;
      const turn = await c.turn(text);
      await eventually(() => callsOf(installation.model, "again ") === 1, waitMs);
      if (how === "killed") await doomed.kill();
      else doomed.signal("SIGTERM");
      await installation.work();
      await eventually(() => callsOf(installation.model, "again ") === 2, waitMs);
      model.release();
      await turn.stream.closed;
      expect(turn.stream.types.at(-1)).toBe("finish");
      const used = await metered(installation, turn.turnId);
      expect(used).toMatchObject({ estimated: true, modelCalls: 2, outputTokens: 5 });
      expect(used.inputTokens).toBeGreaterThan(7 + Buffer.byteLength(text) / 4);
      expect(used.inputTokens).toBeLessThan(7 + Buffer.byteLength(text));
      expect(used.left).toBe(credit - used.inputTokens - used.outputTokens);
    },
    testMs,
  );
});
