import type { GaugePart } from "../console-shapes/health.ts";
import { gaugesKeptHours } from "../installation/gauges.ts";
import type { AnySql } from "../kernel/database/client.ts";

/** The plots show the highest of this many seconds. */
const partSeconds = 600;

/** Returns the last day in parts, the oldest first; the last one is under way. */
export async function readGauges(sql: AnySql): Promise<GaugePart<Date>[]> {
  return sql<GaugePart<Date>[]>`
    with parts as (
      select generate_series(
        to_timestamp((floor(extract(epoch from now()) / ${partSeconds}::int) - ${(gaugesKeptHours * 3_600) / partSeconds - 1}) * ${partSeconds}),
        now(), ${partSeconds} * interval '1 second') as at
    )
    select parts.at, max(turns_waiting) as turns_waiting, max(turns_running) as turns_running, max(jobs_ready) as jobs_ready,
      max(oldest_seconds) as oldest_seconds, max(dead_letters) as dead_letters, max(http_memory_bytes)::float8 as http_memory_bytes,
      max(worker_memory_bytes)::float8 as worker_memory_bytes, max(postgres_connections) as postgres_connections
    from parts left join gauges g on g.at >= parts.at and g.at < parts.at + ${partSeconds} * interval '1 second'
    group by parts.at order by parts.at`;
}
