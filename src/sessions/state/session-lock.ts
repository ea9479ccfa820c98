import { setImmediate } from "node:timers";
import type postgres from "postgres";
import type { AnySql, Sql } from "../../kernel/database/client.ts";

/** Locks that the next statement on a lock connection releases. */
interface Releases {
  readonly lockKeys: string[];
  readonly sent: PromiseWithResolvers<void>;
}

const waiting = new WeakMap<Sql, Releases>();

/** Returns an expression that takes a session's lock, where it is free, and is true when it did. `lockKey` is an expression too. */
export function tryLock(sql: AnySql, lockKey: postgres.Fragment): postgres.Fragment {
  return sql`pg_try_advisory_lock(hashtextextended(${lockKey}, 0))`;
}

/**
 * Releases a session's lock, in one statement with those that are released in the same turn of the
 * event loop: turns that end together do. Rejects when the statement fails.
 */
export function releaseLock(lockSql: Sql, lockKey: string): Promise<void> {
  let releases = waiting.get(lockSql);
  if (releases === undefined) {
    releases = { lockKeys: [], sent: Promise.withResolvers() };
    waiting.set(lockSql, releases);
    setImmediate(() => sendReleases(lockSql));
  }
  releases.lockKeys.push(lockKey);
  return releases.sent.promise;
}

/**
 * Sends the releases that wait. To be called before a lock is taken on the connection: a release that comes
 * behind would end a later turn's lock, were the connection made anew in between.
 */
export function sendReleases(lockSql: Sql): void {
  const releases = waiting.get(lockSql);
  if (releases === undefined) return;
  waiting.delete(lockSql);
  const { lockKeys, sent } = releases;
  lockSql`select /* turn.unlock */ pg_advisory_unlock(hashtextextended(key, 0)) from unnest(${lockKeys}::text[]) key`.then(
    () => sent.resolve(),
    sent.reject,
  );
}

/** Takes those locks that this connection does not hold. Returns the keys whose lock another connection holds. */
export async function lockMissing(lockSql: Sql, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await lockSql<{ key: string; locked: boolean }[]>`
    select /* turn.lock_again */ key, pg_try_advisory_lock(hashtextextended(key, 0)) as locked from unnest(${keys as string[]}::text[]) key
    where not exists (
      select 1 from pg_locks where locktype = 'advisory' and objsubid = 1 and pid = pg_backend_pid()
        and ((classid::bigint << 32) | objid::bigint) = hashtextextended(key, 0)
    )`;
  return new Set(rows.filter(({ locked }) => !locked).map(({ key }) => key));
}
