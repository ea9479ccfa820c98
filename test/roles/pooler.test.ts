import { afterAll, describe, expect, test } from "bun:test";
import { refuseTransactionPooler } from "../../src/roles/pooler.ts";
import { cloneDatabase, dropDatabase } from "../harness/harness.ts";
import { type PoolMode, pgbouncerInstalled, startPgbouncer } from "../harness/pgbouncer.ts";

const databaseUrl = await cloneDatabase();
afterAll(() => dropDatabase(databaseUrl));

async function verdict(mode: PoolMode, servers: number): Promise<string> {
  const pool = await startPgbouncer(databaseUrl, mode, servers);
  try {
    return await refuseTransactionPooler(pool.url).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  } finally {
    await pool.stop();
  }
}

describe("a connection pooler in DATABASE_URL", () => {
  test("a direct connection is accepted", async () => {
    await refuseTransactionPooler(databaseUrl);
  });

  for (const servers of [1, 5]) {
    test.skipIf(!pgbouncerInstalled)(`transaction mode with ${servers} server(s) is refused`, async () => {
      expect(await verdict("transaction", servers)).toContain("transaction mode");
    });
    test.skipIf(!pgbouncerInstalled)(`session mode with ${servers} server(s) is accepted`, async () => {
      expect(await verdict("session", servers)).toBe("accepted");
    });
  }

  test.skipIf(!pgbouncerInstalled)("statement mode is refused", async () => {
    expect(await verdict("statement", 5)).toContain("transaction mode");
  });
});
