import { describe, expect, test } from "bun:test";
import { openDatabase } from "../../src/kernel/database/client.ts";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { eventually } from "../harness/harness.ts";
import { pgbouncerInstalled, startPgbouncer } from "../harness/pgbouncer.ts";
import { replicationInstalled, startPostgresPair } from "../harness/postgres-pair.ts";
import { aftermathOf, type JsonResponse, sharedRedisUrl, startInstallation } from "../harness/processes.ts";

describe.skipIf(sharedRedisUrl === null)("the addresses of a database", () => {
  test.skipIf(!replicationInstalled).concurrent(
    "several hosts: the one that takes writes is used, and found again after a fail-over that loses nothing",
    async () => {
      await using pair = await startPostgresPair({ synchronous: true });
      expect(await migrate(pair.url, createLogger("silent"))).toBeGreaterThan(0);
      await using installation = await startInstallation({ databaseUrl: pair.url });
      const c = await installation.client((await installation.serve()).url);
      await Promise.all([installation.work(), installation.work()]);
      const accepted: JsonResponse[] = [];
      let stopped = false;
      const clients = [1, 2, 3, 4].map(async (client) => {
        for (let turn = 0; !stopped; turn++) {
          const response = await c.json(`turn-${client}-${turn} [[sim: chunks=3 delayMs=20]]`);
          accepted.push(response);
        }
      });
      await eventually(() => accepted.length > 8, 60_000);
      await pair.primary.kill();
      await pair.standby.promote();
      const promotedAt = performance.now();
      const before = accepted.length;
      await eventually(() => accepted.slice(before).some(({ status }) => status === 201), 60_000);
      process.stderr.write(`  new turns ${Math.round(performance.now() - promotedAt)} ms after the promotion\n`);
      const enough = accepted.length + 8;
      await eventually(() => accepted.length > enough, 60_000);
      stopped = true;
      await Promise.all(clients);
      for (const { status, turnId } of accepted) {
        expect([201, 503]).toContain(status);
        if (status !== 201) continue;
        const aftermath = await aftermathOf(installation.sql, turnId ?? "");
        expect(aftermath).toMatchObject({ status: "succeeded", metered: 1, messages: 2 });
      }
      const [row] = await installation.sql<{ port: number }[]>`select current_setting('port')::int as port`;
      expect(row?.port).toBe(pair.standby.port);
    },
    240_000,
  );

  test.skipIf(!replicationInstalled).concurrent(
    "TLS as the URL says, with the time limits made inside of it",
    async () => {
      await using pair = await startPostgresPair();
      for (const [mode, expected] of [
        ["require", true],
        ["prefer", true],
        ["disable", false],
      ] as const) {
        const sql = openDatabase({ url: `${pair.url}?sslmode=${mode}`, max: 1, applicationName: "parley-test" });
        const [row] = await sql`
          select ssl, current_setting('statement_timeout') as limit from pg_stat_ssl where pid = pg_backend_pid()`;
        expect(row).toEqual({ ssl: expected, limit: "8s" });
        await sql.end();
      }
      const strict = openDatabase({ url: `${pair.primary.url}?sslmode=verify-full`, max: 1, applicationName: "x" });
      await expect(strict`select 1`.then(() => "It was trusted.")).rejects.toThrow();
      await strict.end({ timeout: 1 });
    },
    120_000,
  );

  test.skipIf(!pgbouncerInstalled).concurrent(
    "a pooler in session mode as it comes: everything runs, with its time limits",
    async () => {
      await using installation = await startInstallation();
      const pooler = await startPgbouncer(installation.databaseUrl, "session", 60);
      try {
        await migrate(pooler.url, createLogger("silent"));
        const through = { DATABASE_URL: pooler.url };
        const c = await installation.client((await installation.serve(through)).url);
        await installation.work(through);
        expect((await c.json('[[sim: text="through a pooler"]]')).status).toBe(201);
        const sql = openDatabase({ url: pooler.url, max: 1, applicationName: "parley-test" });
        const [limits] = await sql`
          select current_setting('statement_timeout') as one, current_setting('idle_in_transaction_session_timeout') as two`;
        expect(limits).toEqual({ one: "8s", two: "10s" });
        await sql.end();
      } finally {
        await pooler.stop();
      }
    },
    120_000,
  );
});
