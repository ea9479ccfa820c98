import { describe, expect, test } from "bun:test";
import { createApp } from "../../../src/app.ts";
import { Reports, reportsMax } from "../../../src/kernel/admission/reports.ts";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { eventually } from "../../harness/eventually.ts";
import { useTenant } from "../../harness/fixture.ts";

const { h, t } = await useTenant();

describe("reports", () => {
  const limits = { reportsMax: 4, reportsPerTenantMax: 2, reportsAskedMax: 4, waitMs: 60_000 };

  /** Starts reports that run until they are released. */
  function startReports(reports: Reports, tenantId: ReturnType<typeof newId<"tenant">>, count: number) {
    const release = Promise.withResolvers<void>();
    let running = 0;
    const ends = Array.from({ length: count }, () =>
      reports.run(tenantId, async () => {
        running += 1;
        await release.promise;
        running -= 1;
      }),
    );
    return { ends, release: release.resolve, running: () => running };
  }

  test("run four at a time, and two of a tenant; the others wait", async () => {
    const reports = new Reports(h.sql, limits);
    const [a, b, c] = [1, 2, 3].map(() => startReports(reports, newId("tenant"), 3));
    if (a === undefined || b === undefined || c === undefined) throw new Error("There are three.");
    await eventually(() => a.running() + b.running() + c.running() === 4);
    expect([a.running(), b.running(), c.running()]).toEqual([2, 2, 0]);
    a.release();
    await Promise.all(a.ends);
    await eventually(() => c.running() === 2);
    b.release();
    c.release();
    await Promise.all([...b.ends, ...c.ends]);
  });

  test("503 service_unavailable: those that cannot begin in time, or too many that wait", async () => {
    const reports = new Reports(h.sql, { ...limits, waitMs: 20 });
    const tenantId = newId("tenant");
    const held = startReports(reports, tenantId, 2);
    const reasonOf = (report: Promise<unknown>) => report.then(String, (error) => error.reason);
    const waiting = [1, 2, 3].map(() => reasonOf(reports.run(tenantId, async () => "ran")));
    expect(await Promise.all(waiting)).toEqual(Array(3).fill("service_unavailable"));
    expect(await reasonOf(reports.run(newId("tenant"), async () => "ran"))).toBe("ran");
    held.release();
    await Promise.all(held.ends);
    expect(await reasonOf(reports.run(tenantId, async () => "ran"))).toBe("ran");
  });
});

for (const path of ["/v1/usage?groupBy=session", "/v1/agents/ID/usage", "/v1/merchant-usage-events/summary"]) {
  test(`GET ${path} keeps no other request of its tenant waiting, however long it takes`, async () => {
    const reportSql = openDatabase({ url: h.databaseUrl, max: reportsMax, applicationName: "parley-test-reports" });
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const blocker = h.sql.begin(async (tx) => {
      await tx`lock table usage, usage_sums, merchant_events in access exclusive mode`;
      locked.resolve();
      await release.promise;
    });
    try {
      await locked.promise;
      const app = createApp({ ...h.ctx, reports: new Reports(reportSql) });
      const headers = { authorization: `Bearer ${t.token}` };
      const ask = (at: string) => app(new Request(`http://parley.test${at}`, { headers }));
      const askMore = (count: number) => Array.from({ length: count }, () => ask(path.replace("ID", newId("agent"))));
      // 64 requests of a tenant are taken at once; the last ones come when most of the others count as reports.
      const reports = askMore(60);
      await eventually(async () => {
        const [row] = await h.sql`
          select count(*)::int as waiting from pg_stat_activity
          where application_name = 'parley-test-reports' and wait_event_type = 'Lock'`;
        return row?.waiting === 2;
      });
      reports.push(...askMore(6));
      expect((await ask("/v1/agents")).status).toBe(200);
      release.resolve();
      const statuses = await Promise.all(reports.map(async (report) => (await report).status));
      expect([...new Set(statuses)]).toEqual([200]);
    } finally {
      release.resolve();
      await blocker;
      await reportSql.end({ timeout: 1 });
    }
  });
}
