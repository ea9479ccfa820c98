import { describe, expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";

describe.skipIf(sharedRedisUrl === null)("a process at rest", () => {
  test("gives its connections back: an HTTP process holds two at most, a worker five", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve();
    const c = await installation.client(http.url);
    await installation.work();
    const held = async () => {
      const rows = await installation.sql<{ name: string; open: number }[]>`
        select case when application_name like 'parley-http%' then 'http' else 'work' end as name, count(*)::int as open
        from pg_stat_activity where datname = current_database()
          and (application_name like 'parley-http%' or application_name like 'parley-work%')
        group by 1`;
      return Object.fromEntries(rows.map(({ name, open }) => [name, open]));
    };
    const turns = Array.from({ length: 40 }, (_, n) => c.json(`turn-${n} [[sim: text="a b" chunks=2 delayMs=20]]`));
    expect(new Set((await Promise.all(turns)).map(({ status }) => status))).toEqual(new Set([201]));
    const startedAt = performance.now();
    await eventually(async () => {
      const { http: inHttp = 0, work = 0 } = await held();
      return inHttp <= 2 && work <= 5;
    }, 60_000);
    process.stderr.write(
      `  at rest after ${Math.round((performance.now() - startedAt) / 1000)} s: ${JSON.stringify(await held())}\n`,
    );
    // And stays so, but for a moment in which the jobs of the minute are due: in 5 s of the ones that follow.
    await eventually(async () => {
      const seen: number[] = [];
      for (let look = 0; look < 20; look++) {
        seen.push((await held()).work ?? 0);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      process.stderr.write(`  a worker's connections: ${seen.join(" ")}\n`);
      return (seen.toSorted((a, b) => a - b)[15] as number) <= 5;
    }, 30_000);
  }, 120_000);
});
