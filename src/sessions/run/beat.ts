import { hostname } from "node:os";
import type postgres from "postgres";
import type { Sql } from "../../kernel/database/client.ts";
import { workerDeadMs } from "../../kernel/limits.ts";
import { pausedTenants } from "../../kernel/queue/pauses.ts";
import { version } from "../../kernel/version.ts";
import { hasParked } from "../state/parked.ts";

/** What a worker says of itself with a beat. */
interface Beat {
  readonly workerId: string;
  readonly applicationName: string;
  /** The names under which the queue locks its jobs. */
  readonly queueNames: readonly string[];
  readonly slots: number;
  readonly hasRoom: boolean;
  readonly listens: boolean;
  /** The turns that it runs. */
  readonly turnIds: readonly string[];
}

/** How many other workers of the installation beat, and what they do. */
export interface Others {
  /** They have a free slot for a turn. */
  readonly withRoom: number;
  /** They listen for announced jobs. */
  readonly listening: number;
  readonly listeningWithRoom: number;
  /** They are older and have room: this worker's place among those that have. */
  readonly olderWithRoom: number;
}

/** What a beat learns. */
interface BeatRow extends Others {
  /** The number of the connection at the server. */
  readonly pid: number;
  readonly drain: boolean;
  readonly parked: boolean;
  readonly canceled: string[];
  /** The tenants whose turns an operator has paused; an empty id is everything. */
  readonly paused: string[];
}

/** Renews a worker's row. Returns what there is to know for it. */
export async function writeBeat(sql: Sql, beat: Beat): Promise<BeatRow> {
  const { workerId, applicationName, queueNames, slots, hasRoom, listens, turnIds } = beat;
  const [row] = await sql<[BeatRow]>`
      with /* worker.beat */ beat as (
        insert into workers (id, application_name, queue_worker_ids, host, pid, slots, has_room, listens, version, memory_bytes)
        values (${workerId}, ${applicationName}, ${queueNames as string[]}, ${hostname()}, ${process.pid}, ${slots}, ${hasRoom}, ${listens},
          ${version}, ${process.memoryUsage.rss()})
        on conflict (id) do update set beat_at = now(), queue_worker_ids = excluded.queue_worker_ids, has_room = excluded.has_room,
          listens = excluded.listens, memory_bytes = excluded.memory_bytes
        returning drain_requested_at
      )
      select pg_backend_pid() as pid, (select drain_requested_at is not null from beat) as drain,
        ${hasParked(sql)} as parked,
        (select count(*)::int from workers where has_room and ${isOther(sql, workerId)}) as with_room,
        (select count(*)::int from workers where listens and ${isOther(sql, workerId)}) as listening,
        (select count(*)::int from workers where listens and has_room and ${isOther(sql, workerId)}) as listening_with_room,
        (select count(*)::int from workers where has_room and id < ${workerId} and ${isOther(sql, workerId)}) as older_with_room,
        array(select id from turns where id = any(${turnIds as string[]}) and cancel_requested_at is not null) as canceled,
        ${pausedTenants(sql)} as paused`;
  return row;
}

function isOther(sql: Sql, workerId: string): postgres.Fragment {
  return sql`beat_at > now() - ${workerDeadMs} * interval '1 millisecond' and id <> ${workerId}`;
}
