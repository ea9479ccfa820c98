import { describe, expect, test } from "bun:test";
import { turnRunMsMax } from "../../../src/kernel/limits.ts";
import { sharedRedisUrl } from "../../harness/processes.ts";
import { countStep, onStepsScene } from "../../harness/steps-scene.ts";
import { expectBroken, expectWhole } from "../../harness/turn-checks.ts";

describe.skipIf(sharedRedisUrl === null)("how long a turn may run", () => {
  test.concurrent(
    "counts all its claims together",
    () =>
      onStepsScene(async ({ installation, c }) => {
        const over = await c.turn("over [[sim: hangAfterChunks=0 ]]");
        const within = await c.turn(`within [[sim: ${countStep("one")} ; text="in time" ]]`);
        // As if earlier claims had run for so long.
        await installation.sql`update turns set run_ms = ${turnRunMsMax - 1_000} where id = ${over.turnId}`;
        await installation.sql`update turns set run_ms = ${turnRunMsMax - 600_000} where id = ${within.turnId}`;
        await installation.work();
        await Promise.all([over, within].map(({ stream }) => stream.closed));
        expectBroken(over);
        expect(over.stream.chunks.at(-1)?.errorText).toBe("The turn ran longer than a turn may.");
        expectWhole(within);
      }),
    120_000,
  );
});
