import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { replicationInstalled, startPostgresPair } from "../harness/postgres-pair.ts";
import { startRole } from "../harness/process.ts";
import { aftermathOf, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { startRedis } from "../harness/redis.ts";
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

  test("an installation in one process leaves the logs of the time before alone as well", async () => {
    await using pair = await startPostgresPair();
    const redis = await startRedis();
    const home = await mkdtemp(join(tmpdir(), "parley-start-"));
    const child = startRole("start", {
      ...{ PARLEY_HOME: home, PORT: "0", DRAIN_SECONDS: "1", NO_COLOR: "1" },
      ...{ DATABASE_URL: pair.url, REDIS_URL: redis.url },
    });
    const client = new Redis(redis.url);
    try {
      await child.prints(/Ctrl-C stops it/);
      const printed = (name: string) => new RegExp(`${name} +(\\S+)`).exec(child.stdout())?.[1] ?? "";
      const path = `${printed("URL")}/v1/agents/${printed("Agent")}/sessions`;
      const ask = async () => {
        const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello!" }] };
        const headers = { authorization: `Bearer ${printed("API key")}`, "content-type": "application/json" };
        const response = await fetch(path, { method: "POST", headers, body: JSON.stringify({ message }) });
        await response.text();
        const keys = await client.keys(`*${response.headers.get("x-turn-id")}*`);
        return [response.status, keys.map((key) => /^parley:(\d+):/.exec(key)?.[1] ?? "1")];
      };
      expect(await ask()).toEqual([201, ["1"]]);
      await pair.primary.kill();
      await pair.standby.promote();
      await eventually(async () => Bun.deepEquals(await ask(), [201, ["2"]]), 60_000);
    } finally {
      client.disconnect();
      await child.kill();
      await redis.stop();
      await rm(home, { recursive: true, force: true });
    }
  }, 180_000);
});
