import type { AnySql, Tx } from "../kernel/database/client.ts";
import { newSecret, type Secret } from "./secret.ts";

/** A session ends so long after it began, or with its credential if that ends earlier. */
export const sessionHoursMax = 12;
/** A session that is not used for so long ends. */
export const sessionIdleSeconds = 3_600;
/** Sessions of a tenant, or of the operators; a further one ends the oldest. */
export const pageSessionsMax = 100;
/** A link signs in for so long. */
export const linkMinutes = 10;
/** The use of a session is noted at most this often. */
const noteEverySeconds = 30;
/** Rows that one statement of the sweep deletes. */
const sweepStepRows = 5_000;

/** A session, as its cookie finds it. */
export interface StoredSession {
  /** Null: an operator's. */
  readonly tenantId: string | null;
  readonly lockedCredential: Uint8Array;
  readonly expiresAt: Date;
}

/** Makes a session that ends at `endsAt`, or after `sessionHoursMax` if that is earlier. Returns when it ends. */
export async function insertPageSession(
  inner: Tx,
  session: { secret: Secret; tenantId: string | null; credential: string; endsAt: Date | null },
): Promise<Date> {
  const { secret, tenantId, credential, endsAt } = session;
  const [row] = await inner<{ expiresAt: Date }[]>`
    insert into console_sessions (digest, tenant_id, locked_credential, expires_at)
    values (${secret.digest}, ${tenantId}, ${secret.lock(credential)},
      least(now() + make_interval(hours => ${sessionHoursMax}), ${endsAt}::timestamptz))
    returning expires_at`;
  // Of one tenant, or of the operator, the newest stay. What is locked is being ended by another request.
  await inner`
    delete from console_sessions where digest in (
      select digest from console_sessions where tenant_id is not distinct from ${tenantId}
      order by created_at desc, digest offset ${pageSessionsMax} for update skip locked)`;
  return row?.expiresAt ?? new Date();
}

/** Returns the session of a cookie and notes that it is used; null when there is none (any more). */
export async function usePageSession(sql: AnySql, secret: Secret): Promise<StoredSession | null> {
  const [row] = await sql<(StoredSession & { isNoted: boolean })[]>`
    select tenant_id, locked_credential, expires_at,
      used_at > now() - make_interval(secs => ${noteEverySeconds}) as is_noted
    from console_sessions
    where digest = ${secret.digest} and expires_at > now() and used_at > now() - make_interval(secs => ${sessionIdleSeconds})`;
  if (row === undefined) return null;
  if (!row.isNoted) await sql`update console_sessions set used_at = now() where digest = ${secret.digest}`;
  return row;
}

/** Ends a session. Returns whether there was one. */
export async function deletePageSession(sql: AnySql, secret: Secret): Promise<boolean> {
  const { count } = await sql`delete from console_sessions where digest = ${secret.digest}`;
  return count > 0;
}

/** Makes a link that signs in once, as the one whom a credential stands for. Returns its code. */
export async function createLink(sql: AnySql, tenantId: string, credential: string): Promise<string> {
  const secret = newSecret();
  await sql`
    insert into console_links (digest, tenant_id, locked_credential, expires_at)
    values (${secret.digest}, ${tenantId}, ${secret.lock(credential)}, now() + make_interval(mins => ${linkMinutes}))`;
  return secret.text;
}

/** Uses a link up. Returns its credential; null when it was used before, or is too old. */
export async function takeLink(sql: AnySql, secret: Secret): Promise<string | null> {
  const [row] = await sql<{ lockedCredential: Uint8Array }[]>`
    delete from console_links where digest = ${secret.digest} and expires_at > now() returning locked_credential`;
  return row === undefined ? null : secret.unlock(row.lockedCredential);
}

/** The job `console-sessions.sweep`: deletes sessions and links that are over. */
export async function sweepConsole(sql: AnySql): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from console_sessions where digest in (
        select digest from console_sessions
        where expires_at < now() or used_at < now() - make_interval(secs => ${sessionIdleSeconds}) limit ${sweepStepRows})`;
    if (count < sweepStepRows) break;
  }
  await sql`delete from console_links where expires_at < now()`;
}
