import { afterAll, describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { runMigrations } from "graphile-worker";
import postgres from "postgres";
import { listMigrations, migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { dropDatabase, emptyDatabase } from "../harness/harness.ts";
import { type Installation, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { inRepository } from "../harness/repository.ts";
import { type Rows, writeRows } from "./rows.ts";
import { asker, decideScene, readScene, type Scene } from "./scene.ts";

/** What 0.2.0 wrote, and what its interface said of that (`test/kits/upgrade.kit.ts` makes it). */
interface Kept {
  readonly token: string;
  readonly encryptionKey: string;
  readonly modelUrl: string;
  readonly scene: Scene;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly rows: Rows & { readonly "public.schema_migrations": readonly { readonly name: string }[] };
}

const kept: Kept = JSON.parse(await readFile(inRepository("test/upgrade/rows-0.2.0.json"), "utf8"));
const databaseUrl = await emptyDatabase();
const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
afterAll(async () => {
  await sql.end();
  await dropDatabase(databaseUrl);
});

describe.skipIf(sharedRedisUrl === null)("the rows of 0.2.0", () => {
  test("are taken by its own schema", async () => {
    const known = kept.rows["public.schema_migrations"].map(({ name }) => name);
    await sql`create table schema_migrations (name text primary key, applied_at timestamptz not null default now())`;
    // An applied migration never changes, so these still make the schema of then.
    for (const name of (await listMigrations()).filter((one) => known.includes(one)))
      await sql.unsafe(await readFile(inRepository("sql", name), "utf8"));
    await runMigrations({ connectionString: databaseUrl });
    await writeRows(sql, kept.rows);
    const [row] = await sql`select count(*)::int as turns from turns`;
    expect(row).toEqual({ turns: kept.rows["public.turns"]?.length });
  });

  test("are upgraded, and the interface says of them what it said", async () => {
    expect(await migrate(databaseUrl, createLogger("silent"))).toBeGreaterThan(20);
    await using installation = await startInstallation({ databaseUrl });
    const ask = await startedWith(installation);
    const answers = await readScene(ask, kept.scene);
    for (const [path, said] of Object.entries(kept.answers))
      expect([path, answers[path]]).toMatchObject([path, said] as object[]);
    // An old key opens what it opened.
    expect(answers["/v1/apikeys"].apiKeys).toMatchObject([{ role: "admin", agentIds: null }]);
    await decideScene(ask, kept.scene);
  }, 120_000);
});

/** Starts both tiers on the upgraded database; the provider of then was at another port. */
async function startedWith(installation: Installation) {
  const env = { ENCRYPTION_KEY: kept.encryptionKey };
  const { url } = await installation.serve(env);
  await installation.work(env);
  await sql`update providers set base_url = ${installation.model.url} where base_url = ${kept.modelUrl}`;
  return asker(url, kept.token);
}
