import { describe, expect, test } from "bun:test";
import { type ConfigError, readConfig } from "../../src/kernel/config.ts";
import { openDatabase } from "../../src/kernel/database/client.ts";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { eventually } from "../harness/harness.ts";
import { replicationInstalled, startPostgresPair } from "../harness/postgres-pair.ts";
import { type Client, sharedRedisUrl, startInstallation } from "../harness/processes.ts";

describe("DATABASE_READ_URL", () => {
  for (const value of ["mysql://user:secret@host/name", "host", "postgres://user:secret@h1,h2/name"]) {
    test(`refuses ${value} in one line that does not show it`, () => {
      let message = "";
      try {
        readConfig({ DATABASE_READ_URL: value });
      } catch (error) {
        message = (error as ConfigError).message;
      }
      expect(message).toStartWith("DATABASE_READ_URL must");
      expect(message).not.toContain("secret");
    });
  }
});

describe.skipIf(sharedRedisUrl === null || !replicationInstalled)("lists from a replica", () => {
  test("hold what their caller was told of, however far the replica is behind, and without it", async () => {
    await using pair = await startPostgresPair();
    await migrate(pair.primary.url, createLogger("silent"));
    await using installation = await startInstallation({ databaseUrl: pair.primary.url });
    const replica = openDatabase({ url: pair.standby.url, max: 1, applicationName: "parley-test-replica" });
    await using _ended = { [Symbol.asyncDispose]: () => replica.end({ timeout: 1 }) };
    const env = { DATABASE_READ_URL: pair.standby.url };
    const [one, two] = [await installation.serve(env), await installation.serve(env)];
    await installation.work();
    const c = await installation.client(one.url);
    const other = c.at(two.url);

    // The statements of the lists are seen at the replica, which nobody else asks for them.
    const asked = async () => {
      const [row] = await replica<{ count: number }[]>`
        select count(*)::int as count from pg_stat_activity
        where application_name = 'parley-http-replica' and query = 'commit'`;
      return row?.count ?? 0;
    };
    const first = await c.turn('first [[sim: text="one" chunks=1]]');
    await first.stream.closed;
    await eventually(async () => {
      expect(await messages(other, first.sessionId)).toBe(2);
      return (await asked()) > 0;
    }, 60_000);

    // It gets everything and shows none of it.
    await replica`select pg_wal_replay_pause()`;
    await eventually(async () => {
      const [row] = await replica<{ state: string }[]>`select pg_get_wal_replay_pause_state() as state`;
      return row?.state === "paused";
    }, 60_000);
    for (let turn = 2; turn <= 4; turn++) {
      const next = await c.turn('next [[sim: text="more" chunks=1]]', first.sessionId);
      await next.stream.closed;
      for (const at of [c, other]) {
        expect(await messages(at, first.sessionId)).toBe(2 * turn);
        expect(await messages(at, first.sessionId, "?pending=true")).toBe(2 * turn);
        expect(await listed(at, "/v1/turns")).toBe(turn);
        expect(await usedTurns(at)).toBe(turn);
      }
    }
    await replica`select pg_wal_replay_resume()`;

    // It goes without a word to those who read from it.
    await pair.standby.kill();
    const noted = ({ log }: typeof one) => log.some(({ msg }) => msg.includes("the replica cannot be used"));
    await eventually(async () => {
      for (const at of [c, other]) expect(await messages(at, first.sessionId)).toBe(8);
      return noted(one) && noted(two);
    }, 60_000);
    for (const at of [c, other]) {
      expect(await listed(at, "/v1/sessions/latest")).toBe(1);
      expect(await usedTurns(at)).toBe(4);
    }
  }, 240_000);
});

async function listed(c: Client, path: string): Promise<number> {
  const response = await c.request("GET", path);
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: unknown[] }).data.length;
}

const messages = (c: Client, sessionId: string, query = "") =>
  listed(c, `/v1/agents/${c.agentId}/sessions/${sessionId}/messages${query}`);

async function usedTurns(c: Client): Promise<number> {
  const response = await c.request("GET", "/v1/usage");
  expect(response.status).toBe(200);
  return ((await response.json()) as { totals: { requestCount: number } }).totals.requestCount;
}
