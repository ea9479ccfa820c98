import type { AnySql } from "../kernel/database/client.ts";
import { workerDeadMs } from "../kernel/limits.ts";
import { readBacklog } from "../kernel/queue/backlog.ts";
import { readDepths } from "../kernel/queue/depth.ts";
import { httpSilentMs } from "./http-processes.ts";

/** How long a minute's row is kept, which is what the plots show. */
export const gaugesKeptHours = 24;

/** Writes down how the installation is, once a minute however often it is asked to, and drops what is older than a day. */
export async function noteGauges(sql: AnySql): Promise<void> {
  const [{ queued, parked, running, oldestSeconds }, depths] = await Promise.all([
    readBacklog(sql, 1),
    readDepths(sql),
  ]);
  const sum = (name: "ready" | "dead") => depths.reduce((all, depth) => all + depth[name], 0);
  const oldest = Math.max(oldestSeconds, ...depths.map((depth) => depth.oldestSeconds));
  await sql`
    with /* gauges.note */ old as (delete from gauges where at < now() - ${gaugesKeptHours} * interval '1 hour')
    insert into gauges (at, turns_waiting, turns_running, jobs_ready, oldest_seconds, dead_letters,
      http_memory_bytes, worker_memory_bytes, postgres_connections)
    select date_trunc('minute', now()), ${queued + parked}, ${running}, ${sum("ready")}, ${oldest}, ${sum("dead")},
      (select coalesce(sum(memory_bytes), 0)::bigint from http_processes where beat_at > now() - ${httpSilentMs} * interval '1 millisecond'),
      (select coalesce(sum(memory_bytes), 0)::bigint from workers where beat_at > now() - ${workerDeadMs} * interval '1 millisecond'),
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend')
    on conflict (at) do nothing`;
}
