import { describe, expect, test } from "bun:test";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { replicationInstalled, startPostgresPair } from "../harness/postgres-pair.ts";
import { aftermathOf, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { expectFree, expectWhole, isClaimed } from "../harness/turn-checks.ts";

const words = Array.from({ length: 40 }, (_, n) => `word-${n}`).join(" ");

describe.skipIf(sharedRedisUrl === null || !replicationInstalled)("a fail-over that loses commits", () => {
  test("a turn that had run runs again, and is read live, without the words of the lost run", async () => {
    await using pair = await startPostgresPair();
    await migrate(pair.url, createLogger("silent"));
    await using installation = await startInstallation({ databaseUrl: pair.url });
    await using model = holdModel(installation.model);
    let asked = 0;
    // The run again shows nothing before somebody has joined it, however long that takes.
    await using again = holdModel(model, () => ++asked > 1);
    const c = await installation.client((await installation.serve()).url, again.url);
    const turn = await c.turn(`again ${heldMark} [[sim: text="${words}" chunks=40 delayMs=100]]`);
    const standbyHasIt = async () => {
      const { openDatabase } = await import("../../src/kernel/database/client.ts");
      const sql = openDatabase({ url: pair.standby.url, max: 1, applicationName: "parley-test" });
      const rows = await sql`select 1 from turns where id = ${turn.turnId}`.catch(() => []);
      await sql.end({ timeout: 1 });
      return rows.length === 1;
    };
    await eventually(standbyHasIt, 60_000);
    await pair.standby.cutOff();
    // What a worker does from here on is lost.
    await installation.work();
    await isClaimed(installation, turn.turnId);
    model.release();
    await turn.stream.closed;
    expectWhole(turn, words);
    await pair.primary.kill();
    await pair.standby.promote();
    // The test's own connections find the new primary too.
    await eventually(
      () =>
        installation.sql`select 1`.then(
          () => true,
          () => false,
        ),
      60_000,
    );
    // Its row is as it was before the worker had it, and the relay has all that the lost run said, with an end.
    await isClaimed(installation, turn.turnId);
    const joined = await c.join(turn.sessionId);
    const [row] = await installation.sql<{ status: string }[]>`select status from turns where id = ${turn.turnId}`;
    expect(row?.status).toBe("running");
    again.release();
    await eventually(() => joined.stream.types.includes("text-delta"), 60_000);
    await joined.stream.closed;
    expectWhole(joined, words);
    expect(joined.stream.types.filter((type) => type === "text-delta").length).toBeGreaterThan(5);
    expect(await aftermathOf(installation.sql, turn.turnId)).toMatchObject({
      status: "succeeded",
      metered: 1,
      messages: 2,
    });
    const next = await c.turn('next [[sim: text="after it" chunks=2 delayMs=100]]', turn.sessionId);
    await next.stream.closed;
    expectWhole(next, "after it");
    await expectFree(c, turn.sessionId);
    // Whoever comes back to the lost run is told what is stored.
    const path = `/v1/agents/${c.agentId}/sessions/${turn.sessionId}/stream`;
    const back = await c.request("GET", path, undefined, { "last-event-id": `${turn.turnId}:1` });
    expect([200, 204]).toContain(back.status);
  }, 240_000);
});
