import type { Ctx } from "../kernel/context.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** What the installation's turns of the last hour came to, and how its stores are. */
export interface Health {
  readonly at: string;
  readonly version: string;
  readonly hour: {
    readonly accepted: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly firstTextMsP50: number | null;
    readonly firstTextMsP95: number | null;
  };
  /** The most frequent first. */
  readonly causes: readonly { readonly code: string; readonly message: string; readonly count: number }[];
  /** The tenants with the most turns of the hour. */
  readonly tenants: readonly HourOfTenant[];
  readonly postgres: PostgresHealth;
  /** How long the relay took to answer; null where it did not in time. */
  readonly relayPingMs: number | null;
}

interface HourOfTenant {
  readonly tenantId: IdOf<"tenant">;
  readonly name: string;
  readonly turns: number;
  readonly failed: number;
  readonly tokens: number;
}

interface PostgresHealth {
  readonly version: string;
  readonly bytes: number;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly oldestTransactionSeconds: number;
  readonly isStandby: boolean;
}

/** Tenants and causes that are shown. */
const shownMax = 10;
const causeCharactersMax = 200;
/** A relay that does not answer in this time is shown as silent. */
const relayWaitMs = 1_000;

/** Returns the health of the installation. Turns are read tenant by tenant, each from its index. */
export async function readHealth(sql: Sql, ctx: Pick<Ctx, "relay">, version: string): Promise<Health> {
  const [[hour], causes, tenants, [postgres], relayPingMs] = await Promise.all([
    sql<Health["hour"][]>`
      select count(*)::int as accepted, count(*) filter (where status = 'succeeded')::int as succeeded,
        count(*) filter (where status = 'failed')::int as failed,
        ${percentile(sql, 0.5)} as first_text_ms_p50, ${percentile(sql, 0.95)} as first_text_ms_p95
      from (${turnsOfTheHour(sql)}) turns`,
    sql<Health["causes"][number][]>`
      select error ->> 'code' as code, left(coalesce(error ->> 'message', ''), ${causeCharactersMax}) as message, count(*)::int as count
      from (${turnsOfTheHour(sql)}) turns where status = 'failed' and error ->> 'code' is not null
      group by 1, 2 order by 3 desc, 1, 2 limit ${shownMax}`,
    sql<HourOfTenant[]>`
      select tenant_id, name, count(*)::int as turns, count(*) filter (where status = 'failed')::int as failed,
        sum(input_tokens + output_tokens)::float8 as tokens
      from (${turnsOfTheHour(sql)}) turns group by 1, 2 order by 3 desc, 1 limit ${shownMax}`,
    sql<PostgresHealth[]>`
      select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes,
        (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
        current_setting('max_connections')::int as connections_max,
        coalesce((select greatest(0, extract(epoch from clock_timestamp() - min(xact_start)))::float8 from pg_stat_activity
          where backend_type = 'client backend' and xact_start is not null and pid <> pg_backend_pid()), 0) as oldest_transaction_seconds,
        pg_is_in_recovery() as is_standby`,
    pingRelay(ctx),
  ]);
  if (hour === undefined || postgres === undefined) throw new Error("A report has no row.");
  return { at: new Date().toISOString(), version, hour, causes, tenants, postgres, relayPingMs };
}

/** The turns that were accepted in the last hour: the tenants are few, and each of them has them in `turns_accepted`. */
function turnsOfTheHour(sql: Sql) {
  return sql`
    select t.tenant_id, tenants.name, t.status, t.error, t.input_tokens, t.output_tokens, t.first_text_at, t.queued_at, t.accepted_at
    from tenants cross join lateral (
      select * from turns where tenant_id = tenants.id and accepted_at >= now() - interval '1 hour') t
    where tenants.deleted_at is null`;
}

function percentile(sql: Sql, share: number) {
  return sql`percentile_disc(${share}::float8) within group (order by
    greatest(0, round(extract(epoch from first_text_at - coalesce(queued_at, accepted_at)) * 1000))::float8)
    filter (where first_text_at is not null)`;
}

/** Returns how long the relay took to answer; null where it did not in time. */
async function pingRelay({ relay }: Pick<Ctx, "relay">): Promise<number | null> {
  const began = performance.now();
  const asked = relay.ping().then(() => Math.round(performance.now() - began));
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), relayWaitMs).unref());
  return Promise.race([asked.catch(() => null), late]);
}
