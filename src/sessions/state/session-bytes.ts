import { askedBytes } from "../../kernel/admission/stored-bytes.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql, Sql, Tx } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";

/**
 * What a session stores, in `sessions.bytes`: its messages, and what its ended turns were asked with. Its own metadata
 * is not in it: that is added when somebody asks. Each move that changes
 * one of them changes the number in the same statement or transaction; what those do not know, such as a process of
 * the version before, the recount puts right.
 */

/** Returns the SQL of what the session `s` stores, added up. */
export function sessionBytes(sql: AnySql) {
  return sql`(select coalesce(sum(m.bytes), 0) from messages m where m.session_id = s.id)
    + (select coalesce(sum(${askedBytes(sql, sql`t`)}), 0) from turns t
      where t.session_id = s.id and ${byKeyOnly(sql, sql`t.status`)} in ('succeeded', 'failed', 'canceled'))`;
}

/** Sessions that one transaction of the recount locks: for some milliseconds. */
const sessionsPerStep = 50;
/** One run of the job, which comes each minute, goes on for so long: a million sessions are counted in some hours, and turns lose a hundredth of a core. */
const recountMsMax = 500;

/**
 * Part of the job `storage.count`: counts sessions again that the last run did not come to. A session whose row somebody
 * else has is left out until the next round.
 */
export async function recountSessions(sql: Sql): Promise<void> {
  const endsAtMs = performance.now() + recountMsMax;
  while (performance.now() < endsAtMs) if ((await tx(sql, recountStep)) < sessionsPerStep) return;
}

async function recountStep(inner: Tx): Promise<number> {
  const [place] = await inner<
    { afterId: string }[]
  >`select /* recount.place */ after_id from session_recount for update skip locked`;
  if (place === undefined) return 0;
  const found = await inner<{ id: string }[]>`
    select /* recount.next */ id from sessions where id > ${place.afterId} order by id limit ${sessionsPerStep}`;
  const locked = await inner<{ id: string }[]>`
    select /* recount.lock */ id from sessions where id = any(${found.map(({ id }) => id)}) order by id for no key update skip locked`;
  // Under the locks nobody ends a turn of these: what this statement sees is what there is.
  await inner`
    update /* recount.write */ sessions s set bytes = counted.bytes
    from (select s.id, ${sessionBytes(inner)} as bytes from sessions s where s.id = any(${locked.map(({ id }) => id)})) counted
    where s.id = counted.id and s.bytes is distinct from counted.bytes`;
  const last = found.length < sessionsPerStep ? "" : found.at(-1)?.id;
  await inner`update /* recount.move */ session_recount set after_id = ${last ?? ""}`;
  return found.length;
}
