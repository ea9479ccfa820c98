import { hostname } from "node:os";
import type {
  FailingProvider,
  HourOfTenant,
  InstallationHealth,
  PostgresHealth,
  RelayHealth,
} from "../console-shapes/health.ts";
import type { OverviewPart } from "../console-shapes/overview.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Sql } from "../kernel/database/client.ts";
import { countJobs } from "../kernel/queue/stored-jobs.ts";
import { version } from "../kernel/version.ts";
import { firstTextPercentile } from "./first-text.ts";
import { listHttpProcesses } from "./http-processes.ts";

/** Tenants, causes and providers that are shown. */
const shownMax = 10;
const causeCharactersMax = 200;
/** A relay that does not answer in this time is shown as silent. */
const relayWaitMs = 1_000;
/** The plots: seconds of a part, and hours where the last one had at most this many turns: some 1 s to read. */
const partSeconds = 300;
const plottedHours = 6;
const busyHourTurns = 50_000;
/** Failed turns of which the provider is looked up: the newest. */
const lookedThroughMax = 1_000;

/** Returns the health of the installation. Turns are read tenant by tenant, each from its index. */
export async function readHealth(sql: Sql, { relay }: Pick<Ctx, "relay">): Promise<InstallationHealth<Date>> {
  const [[hour], causes, providers, tenants, jobs, [postgres], relayHealth, httpProcesses] = await Promise.all([
    sql<InstallationHealth["hour"][]>`
      select ${sums(sql)} from (${turnsSince(sql, 1)}) turns`,
    sql<InstallationHealth["causes"][number][]>`
      select error ->> 'code' as code, left(coalesce(error ->> 'message', ''), ${causeCharactersMax}) as message, count(*)::int as count
      from (${turnsSince(sql, 1)}) turns where status = 'failed' and error ->> 'code' is not null
      group by 1, 2 order by 3 desc, 1, 2 limit ${shownMax}`,
    readFailingProviders(sql),
    readHourOfTenants(sql),
    countJobs(sql),
    readPostgres(sql),
    readRelay(relay),
    listHttpProcesses(sql),
  ]);
  if (hour === undefined || postgres === undefined) throw new Error("A report has no row.");
  const parts = await readParts(sql, hour.accepted > busyHourTurns ? 1 : plottedHours);
  return {
    at: new Date().toISOString(),
    process: { version, host: hostname(), pid: process.pid, memoryBytes: process.memoryUsage.rss() },
    httpProcesses,
    ...{ hour, parts, causes, providers, tenants },
    deadLetters: jobs.reduce((sum, { dead }) => sum + dead, 0),
    postgres,
    relay: relayHealth,
  };
}

/** The turns that were accepted in the last hours: the tenants are few, and each of them has them in `turns_accepted`. */
function turnsSince(sql: Sql, hours: number) {
  return sql`
    select t.tenant_id, tenants.name, tenants.subscription, t.status, t.error, t.steps, t.input_tokens, t.output_tokens,
      t.first_text_at, t.queued_at, t.accepted_at, t.waited_ms
    from tenants cross join lateral (
      select * from turns where tenant_id = tenants.id and accepted_at >= now() - ${hours} * interval '1 hour') t
    where tenants.deleted_at is null`;
}

function sums(sql: Sql) {
  return sql`count(*)::int as accepted, count(*) filter (where status = 'succeeded')::int as succeeded,
    count(*) filter (where status = 'failed')::int as failed, count(*) filter (where status = 'canceled')::int as canceled,
    ${firstTextPercentile(sql, 0.5)} as first_text_ms_p50, ${firstTextPercentile(sql, 0.95)} as first_text_ms_p95,
    coalesce(sum(input_tokens), 0)::float8 as input_tokens, coalesce(sum(output_tokens), 0)::float8 as output_tokens`;
}

/** Every part has a row, those without a turn too. */
async function readParts(sql: Sql, hours: number): Promise<OverviewPart<Date>[]> {
  return sql<OverviewPart<Date>[]>`
    with parts as (
      select generate_series(
        to_timestamp((floor(extract(epoch from now()) / ${partSeconds}::int) - ${(hours * 3_600) / partSeconds - 1}) * ${partSeconds}),
        now(), ${partSeconds} * interval '1 second') as at
    ), summed as (
      select to_timestamp(floor(extract(epoch from accepted_at) / ${partSeconds}::int) * ${partSeconds}) as at, ${sums(sql)}
      from (${turnsSince(sql, hours)}) turns group by 1
    )
    select parts.at, coalesce(accepted, 0) as accepted, coalesce(succeeded, 0) as succeeded, coalesce(failed, 0) as failed,
      coalesce(canceled, 0) as canceled, first_text_ms_p50, first_text_ms_p95,
      coalesce(input_tokens, 0) as input_tokens, coalesce(output_tokens, 0) as output_tokens
    from parts left join summed using (at) order by parts.at`;
}

/** Ten by each measure, of which the page shows ten by one. */
function readHourOfTenants(sql: Sql): Promise<HourOfTenant[]> {
  return sql<HourOfTenant[]>`
    select tenant_id, name, suspended, turns, failed, tokens from (
      select *, row_number() over (order by turns desc, tenant_id) as by_turns,
        row_number() over (order by failed desc, tenant_id) as by_failed,
        row_number() over (order by tokens desc, tenant_id) as by_tokens
      from (
        select tenant_id, name, subscription = 'inactive' as suspended, count(*)::int as turns,
          count(*) filter (where status = 'failed')::int as failed,
          coalesce(sum(input_tokens + output_tokens), 0)::float8 as tokens
        from (${turnsSince(sql, 1)}) turns group by 1, 2, 3) tenants) ranked
    where least(by_turns, by_failed, by_tokens) <= ${shownMax} order by turns desc, tenant_id`;
}

/** Which provider ended a turn stands in its last step. */
function readFailingProviders(sql: Sql): Promise<FailingProvider[]> {
  return sql<FailingProvider[]>`
    select failures.provider_id, p.provider_type, failures.tenant_id, failures.name as tenant_name, count(*)::int as failed,
      (array_agg(failures.status order by failures.accepted_at desc))[1] as last_status
    from (
      select failed.tenant_id, failed.name, failed.accepted_at, ended.failure ->> 'providerId' as provider_id,
        (ended.failure ->> 'status')::int as status
      from (
        select tenant_id, name, accepted_at, steps from (${turnsSince(sql, 1)}) turns
        where status = 'failed' and error ->> 'code' = 'provider_error' order by accepted_at desc limit ${lookedThroughMax}
      ) failed cross join lateral (
        select failure from json_array_elements(failed.steps -> -1 -> 'failures') failure
        where failure ->> 'endedTurn' = 'true' limit 1) ended
    ) failures left join providers p on p.id = failures.provider_id and p.tenant_id = failures.tenant_id
    group by 1, 2, 3, 4 order by 5 desc, 1 limit ${shownMax}`;
}

function readPostgres(sql: Sql): Promise<PostgresHealth[]> {
  return sql<PostgresHealth[]>`
    select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::int as connections_max,
      coalesce((select greatest(0, extract(epoch from clock_timestamp() - min(xact_start)))::float8 from pg_stat_activity
        where backend_type = 'client backend' and xact_start is not null and pid <> pg_backend_pid()), 0) as oldest_transaction_seconds,
      pg_is_in_recovery() as is_standby`;
}

/** What does not answer in time is null. */
async function readRelay(relay: Ctx["relay"]): Promise<RelayHealth> {
  const began = performance.now();
  const inTime = <T>(asked: Promise<T>) =>
    Promise.race([
      asked.catch(() => null),
      new Promise<null>((resolve) => setTimeout(() => resolve(null), relayWaitMs).unref()),
    ]);
  const [pingMs, memory] = await Promise.all([
    inTime(relay.ping().then(() => Math.round(performance.now() - began))),
    inTime(relay.memory()),
  ]);
  return { pingMs, memory };
}
