import { hostname } from "node:os";
import { clearInterval, setInterval } from "node:timers";
import { waitAtMost } from "../kernel/async/wait.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { version } from "../kernel/version.ts";

/** How often an HTTP process renews its row. */
const beatEveryMs = 15_000;
/** One whose row is older is shown as silent. */
export const httpSilentMs = 45_000;
/** And taken away after this long. */
const forgottenAfterMs = 600_000;
/** A process that ends waits this long to take its own row away. */
const lastBeatMs = 1_000;

/**
 * Keeps a row of this HTTP process, for the operator's page alone: a database that is away changes nothing. Returns a
 * function that ends that and takes the row away.
 */
export function startHttpBeat(sql: Sql, log: Logger): () => Promise<void> {
  const id = crypto.randomUUID();
  let beating: Promise<void> | null = null;
  const beat = () => {
    beating ??= writeBeat(sql, id)
      .catch((error) => log.debug({ err: error }, "this process could not be noted"))
      .finally(() => {
        beating = null;
      });
  };
  beat();
  const timer = setInterval(beat, beatEveryMs);
  timer.unref();
  const leave = async () => {
    await beating;
    await sql`delete from http_processes where id = ${id}`;
  };
  return async () => {
    clearInterval(timer);
    await waitAtMost(
      leave().catch(() => {}),
      lastBeatMs,
    );
  };
}

async function writeBeat(sql: Sql, id: string): Promise<void> {
  await sql`
    with /* http.beat */ lost as (
      delete from http_processes where beat_at < now() - ${forgottenAfterMs} * interval '1 millisecond' and id <> ${id}
    )
    insert into http_processes (id, host, pid, version, memory_bytes)
    values (${id}, ${hostname()}, ${process.pid}, ${version}, ${process.memoryUsage.rss()})
    on conflict (id) do update set beat_at = now(), memory_bytes = excluded.memory_bytes`;
}
