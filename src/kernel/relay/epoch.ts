import { clearInterval, setInterval } from "node:timers";
import type { AnySql } from "../database/client.ts";

/** How often a process asks which epoch it is, in milliseconds. */
const askEveryMs = 1_000;

/** A relay whose logs belong to an epoch of the database. */
interface EpochRelay {
  setEpoch(epoch: string): void;
}

/**
 * Returns the epoch of the database: its timeline, which a promoted standby, or a database that was restored,
 * begins anew. Commits of the one before may be lost, while the relay still has what was said by them; so logs
 * of another epoch are not looked at.
 */
async function readEpoch(sql: AnySql): Promise<string> {
  const [row] = await sql<[{ timeline: string }]>`
    select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline`;
  return String(Number.parseInt(row.timeline, 16));
}

/** Tells the relay the epoch, now and whenever it has changed. Returns a function that ends that. Throws when the database is away. */
export async function followEpoch(sql: AnySql, relay: EpochRelay): Promise<() => void> {
  relay.setEpoch(await readEpoch(sql));
  let asking = false;
  const timer = setInterval(() => {
    if (asking) return;
    asking = true;
    readEpoch(sql)
      // A database that is away, or is a standby for a moment, is asked again.
      .then(
        (epoch) => relay.setEpoch(epoch),
        () => {},
      )
      .finally(() => {
        asking = false;
      });
  }, askEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}
