import type { HttpProcess } from "../console-shapes/health.ts";
import { httpSilentMs } from "../installation/http-processes.ts";
import type { AnySql } from "../kernel/database/client.ts";

const shownMax = 200;

/** Returns the HTTP processes, the oldest first; of very many the newest. */
export async function listHttpProcesses(sql: AnySql): Promise<HttpProcess<Date>[]> {
  const rows = await sql<HttpProcess<Date>[]>`
    select host, pid, version, memory_bytes::float8 as memory_bytes, started_at,
      case when beat_at < now() - ${httpSilentMs} * interval '1 millisecond' then 'silent' else 'serving' end as state,
      greatest(0, extract(epoch from now() - beat_at))::float8 as beat_seconds_ago
    from http_processes order by started_at desc, id desc limit ${shownMax}`;
  return rows.reverse();
}
