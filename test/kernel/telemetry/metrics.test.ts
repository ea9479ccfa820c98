import { describe, expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { scrapeTimeoutMs } from "../../../src/kernel/limits.ts";
import { QueueGauges } from "../../../src/kernel/queue/gauges.ts";
import { registry } from "../../../src/kernel/telemetry/metrics.ts";
import { useService } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { startPostgres } from "../../harness/postgres.ts";
import { sharedRedisUrl, startInstallation } from "../../harness/processes.ts";
import { sampleOf, samplesOf } from "../../harness/prometheus.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";

const token = "a-token-for-scrapers";

const h = await useService({ worker: true });
const t = await h.tenant({ name: "Secret Name Ltd" });
const agent = await makeAgent(h, t);

describe.skipIf(!inProcess)("GET /metrics", () => {
  const scrape = async () => {
    const response = await t.call("GET", "/metrics", { token: null });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    return String(response.body);
  };
  const ask = (text: string) =>
    t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(text), stream: false } });

  test("200 counts turns by outcome, their times and the relay's lag", async () => {
    const before = await scrape();
    const of = (text: string, name: string, labels: Record<string, string> = {}) => sampleOf(text, name, labels) ?? 0;
    expect((await ask("hello [[sim: chunks=5 delayMs=20]]")).status).toBe(201);
    expect((await ask("[[sim: fail=500]]")).status).toBe(502);
    await eventually(async () => {
      const now = await scrape();
      const rose = (name: string, labels: Record<string, string> = {}) =>
        of(now, name, labels) - of(before, name, labels);
      return (
        rose("parley_turns_total", { outcome: "succeeded", kind: "session" }) === 1 &&
        rose("parley_turns_total", { outcome: "failed", kind: "session" }) === 1 &&
        rose("parley_turn_failures_total", { code: "provider_error" }) === 1 &&
        rose("parley_turn_duration_seconds_count", { outcome: "succeeded" }) === 1 &&
        rose("parley_turn_first_chunk_seconds_count") === 1 &&
        rose("parley_turn_queue_wait_seconds_count") === 2 &&
        // A turn is claimed when it is announced; its job, where it was fetched meanwhile, is counted beside it.
        rose("parley_job_duration_seconds_count", { task: "turn", result: "done" }) >= 2 &&
        rose("parley_relay_lag_seconds_count") >= 1 &&
        rose("parley_http_request_duration_seconds_count", {
          method: "POST",
          route: "/v1/agents/:agentId/sessions",
          status: "5xx",
        }) === 1
      );
    });
  });

  test("200 shows who follows and what runs, and forgets both", async () => {
    await using model = holdModel(h.model);
    const held = await makeAgent({ model }, t);
    const body = { message: userMessage(heldMark), stream: false };
    const turn = t.call("POST", `/v1/agents/${held}/sessions`, { body });
    await eventually(async () => {
      const now = await scrape();
      return sampleOf(now, "parley_followers_open") === 1 && sampleOf(now, "parley_sessions_held") === 1;
    });
    model.release();
    await turn;
    await eventually(async () => {
      const now = await scrape();
      return sampleOf(now, "parley_followers_open") === 0 && sampleOf(now, "parley_sessions_held") === 0;
    });
  });

  test("200 tells the queue's depth, age and dead letters by task", async () => {
    // Jobs of a kind that no worker of ours runs stay where they are.
    await h.sql`select graphile_worker.add_job('stranger', '{}'::json, run_at => now() - interval '1 hour')`;
    await h.sql`select graphile_worker.add_job('stranger', '{}'::json, run_at => now() + interval '1 hour')`;
    await h.sql`select graphile_worker.add_job('chat.deliver', '{}'::json, run_at => now() + interval '1 hour')`;
    await h.sql`update graphile_worker._private_jobs set attempts = max_attempts where run_at > now()`;
    const now = await scrape();
    expect(sampleOf(now, "parley_queue_ready", { task: "other" })).toBe(1);
    expect(sampleOf(now, "parley_queue_oldest_seconds", { task: "other" })).toBeGreaterThan(3_500);
    expect(sampleOf(now, "parley_queue_dead", { task: "other" })).toBe(1);
    expect(sampleOf(now, "parley_queue_dead", { task: "chat.deliver" })).toBe(1);
    expect(sampleOf(now, "parley_queue_ready", { task: "turn" })).toBe(0);
    expect(sampleOf(now, "parley_workers", { state: "beating" })).toBe(1);
    await h.sql`delete from graphile_worker._private_jobs`;
  });

  test("200 counts what the reaper does", async () => {
    const counted = async () =>
      sampleOf(await scrape(), "parley_reaper_actions_total", { action: "dead_worker_forgotten" }) ?? 0;
    const before = await counted();
    await h.sql`
      insert into workers (id, application_name, beat_at) values ('wk_gone', 'parley-wk_gone', now() - interval '1 minute')`;
    // On a busy machine a worker of another test may be forgotten as well.
    await eventually(async () => (await counted()) > before);
    await eventually(async () => (await h.sql`select 1 from workers where id = 'wk_gone'`).length === 0);
  });

  test("both counts of the queue follow an index, however long it is", async () => {
    await h.sql`
      insert into graphile_worker._private_jobs (task_id, payload, run_at)
      select (select id from graphile_worker._private_tasks where identifier = 'stranger'), '{}', now() - interval '1 minute'
      from generate_series(1, 20000)`;
    await h.sql`analyze graphile_worker._private_jobs`;
    const plans = await Promise.all([
      h.sql`explain select task_id, run_at from graphile_worker._private_jobs
        where is_available = true and priority = 0 and run_at <= now() order by priority, run_at limit 1000`,
      h.sql`explain select task_id from graphile_worker._private_jobs where attempts >= max_attempts and locked_at is null limit 1000`,
    ]);
    for (const plan of plans) expect(JSON.stringify(plan)).not.toContain("Seq Scan");
    expect(JSON.stringify(plans[1])).toContain("parley_dead_jobs");
    await h.sql`delete from graphile_worker._private_jobs`;
  });

  test("labels have few values: no ids, no names of tenants, no paths as sent", async () => {
    await t.call("GET", `/v1/agents/${agent}`);
    await t.call("GET", "/no/such/path");
    await h.app(new Request("http://parley.test/v1/agents", { method: "BREW" }));
    const text = await scrape();
    const values = samplesOf(text).flatMap(({ labels }) => Object.values(labels));
    expect(values.filter((value) => /_[0-9a-z]{24}/.test(value))).toEqual([]);
    expect(text).not.toContain(t.id);
    expect(text).not.toContain("Secret Name");
    expect(text).not.toContain("BREW");
    expect(text).not.toContain("/no/such/path");
    expect(
      sampleOf(text, "parley_http_request_duration_seconds_count", {
        route: "/v1/agents/:agentId",
        method: "GET",
        status: "2xx",
      }),
    ).toBeGreaterThan(0);
    expect(
      sampleOf(text, "parley_http_request_duration_seconds_count", {
        route: "unmatched",
        method: "GET",
        status: "4xx",
      }),
    ).toBeGreaterThan(0);
  });

  test("process and pool are there", async () => {
    const text = await scrape();
    expect(sampleOf(text, "process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(sampleOf(text, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
    expect(sampleOf(text, "parley_database_pool_max", { pool: "parley-test" })).toBe(10);
    expect(sampleOf(text, "parley_database_pool_waiting", { pool: "parley-test" })).toBe(0);
  });

  test("the pool's use is what was asked of it", async () => {
    const asked = Array.from({ length: 12 }, () => h.sql`select pg_sleep(0.5)`.execute());
    const text = await registry.metrics();
    expect(sampleOf(text, "parley_database_pool_in_use", { pool: "parley-test" })).toBe(10);
    expect(sampleOf(text, "parley_database_pool_waiting", { pool: "parley-test" })).toBeGreaterThanOrEqual(2);
    await Promise.all(asked);
  });
});

describe("a scrape beside a Postgres that does not respond", () => {
  test("leaves the queue's gauges out soon, and has them again afterwards", async () => {
    await using postgres = await startPostgres();
    const sql = openDatabase({ url: postgres.url, max: 2, applicationName: "parley-scrape" });
    const gauges = new QueueGauges(sql, { tellTenants: true });
    expect(await gauges.text()).toContain('parley_queue_ready{task="turn"} 0');
    await postgres.freeze();
    const startedAt = Date.now();
    expect(await Promise.all([gauges.text(), gauges.text()])).toEqual(["", ""]);
    // It waits for 2 s.
    expect(Date.now() - startedAt).toBeLessThan(5 * scrapeTimeoutMs);
    await postgres.thaw();
    await eventually(async () => (await gauges.text()).includes("parley_queue_ready"));
    await sql.end({ timeout: 1 });
  }, 120_000);
});

describe.skipIf(sharedRedisUrl === null)("the processes of an installation", () => {
  test("a worker serves metrics on METRICS_PORT, and nowhere without it", async () => {
    await using installation = await startInstallation();
    const worker = await installation.work({ METRICS_PORT: "0", METRICS_TOKEN: token });
    const silent = await installation.work();
    const portOf = (process: typeof worker) => process.log.find(({ msg }) => msg === "working")?.metrics;
    expect(portOf(silent)).toBeUndefined();
    const url = `http://127.0.0.1:${portOf(worker)}`;
    const get = (path: string, headers = {}) => fetch(`${url}${path}`, { headers });
    expect(await (await get("/healthz")).json()).toEqual({ status: "ok" });
    await eventually(async () => (await get("/readyz")).status === 200);
    expect((await get("/metrics")).status).toBe(401);
    const metrics = await (await get("/metrics", { authorization: `Bearer ${token}` })).text();
    expect(sampleOf(metrics, "parley_sessions_held")).toBe(0);
    expect(sampleOf(metrics, "parley_workers", { state: "beating" })).toBe(2);
    expect((await get("/v1/agents")).status).toBe(404);
    const http = await installation.serve();
    expect((await (await installation.client(http.url)).json("hello")).status).toBe(201);
    const ofHttp = await (await fetch(`${http.url}/metrics`)).text();
    expect(sampleOf(ofHttp, "parley_relay_lag_seconds_count")).toBeGreaterThan(0);
    expect(sampleOf(ofHttp, "parley_relay_lag_seconds_sum")).toBeLessThan(5);
    worker.signal("SIGTERM");
    expect((await worker.exited).code).toBe(0);
  }, 120_000);
});
