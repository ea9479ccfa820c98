import type { AnySql, Tx } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { digest } from "../kernel/seal.ts";
import { sweepGroupMembers } from "../members/person.ts";
import { oidcMinutes } from "./oidc/flow.ts";
import { newSecret, type Secret } from "./secret.ts";

/** A session ends so long after it began, or with its credential if that ends earlier. */
export const sessionHoursMax = 12;
/** A session that is not used for so long ends. */
export const sessionIdleSeconds = 3_600;
/** Sessions of a tenant's keys and tokens, or of OPERATOR_TOKEN; a further one ends the oldest. */
export const pageSessionsMax = 100;
/** Sessions of a person who signed in by the identity provider; a further one ends the oldest. */
export const personSessionsMax = 20;
/** A link signs in for so long. */
export const linkMinutes = 10;
/** The use of a session is noted at most this often. */
const noteEverySeconds = 30;
/** Members by a group are kept for so long after their last sign-in: as long as the audit that names them. */
export const groupMembersKeptDays = 400;
/** Rows that one statement of the sweep deletes. */
const sweepStepRows = 5_000;

/** A session, as its cookie finds it. */
export interface StoredSession {
  /** Null: an operator's, or a person's who has chosen no tenant yet. */
  readonly tenantId: string | null;
  /** What was signed in with; of a person, what the identity provider said. */
  readonly lockedCredential: Uint8Array;
  /** The address of a person as it is compared; null: somebody signed in with a key or a token. */
  readonly emailKey: string | null;
  /** The member that the person is in the tenant that was chosen. */
  readonly memberId: IdOf<"member"> | null;
  /** Whether the person has chosen to be an operator. */
  readonly asOperator: boolean;
  readonly expiresAt: Date;
}

/** A session that is made. */
export interface NewSession {
  readonly secret: Secret;
  readonly credential: string;
  readonly tenantId: string | null;
  /** Null: after `sessionHoursMax`. */
  readonly endsAt: Date | null;
  readonly emailKey?: string;
  readonly memberId?: IdOf<"member"> | null;
  readonly asOperator?: boolean;
}

/** Makes a session that ends at `endsAt`, or after `sessionHoursMax` if that is earlier. Returns when it ends. */
export async function insertPageSession(inner: Tx, session: NewSession): Promise<Date> {
  const { secret, tenantId, credential, endsAt, emailKey = null, memberId = null, asOperator = false } = session;
  const [row] = await inner<{ expiresAt: Date }[]>`
    insert into console_sessions (digest, tenant_id, locked_credential, email_key, member_id, as_operator, expires_at)
    values (${secret.digest}, ${tenantId}, ${secret.lock(credential)}, ${emailKey}, ${memberId}, ${asOperator},
      least(now() + make_interval(hours => ${sessionHoursMax}), ${endsAt}::timestamptz))
    returning expires_at`;
  // Of one tenant, of the operator or of a person the newest stay. What is locked is being ended by another request.
  const whose =
    emailKey === null
      ? inner`email_key is null and tenant_id is not distinct from ${tenantId}`
      : inner`email_key = ${emailKey}`;
  await inner`
    delete from console_sessions where digest in (
      select digest from console_sessions where ${whose}
      order by created_at desc, digest offset ${emailKey === null ? pageSessionsMax : personSessionsMax} for update skip locked)`;
  return row?.expiresAt ?? new Date();
}

/** Returns the session of a cookie and notes that it is used; null when there is none (any more). */
export async function usePageSession(sql: AnySql, secret: Secret): Promise<StoredSession | null> {
  const [row] = await sql<(StoredSession & { isNoted: boolean })[]>`
    select tenant_id, locked_credential, email_key, member_id, as_operator, expires_at,
      used_at > now() - make_interval(secs => ${noteEverySeconds}) as is_noted
    from console_sessions
    where digest = ${secret.digest} and expires_at > now() and used_at > now() - make_interval(secs => ${sessionIdleSeconds})`;
  if (row === undefined) return null;
  if (!row.isNoted) await sql`update console_sessions set used_at = now() where digest = ${secret.digest}`;
  return row;
}

/** What a person has chosen to be in the console. */
export interface PersonChoice {
  readonly tenantId: string | null;
  readonly memberId: IdOf<"member"> | null;
  readonly asOperator: boolean;
}

/** Notes what a person has chosen. Returns false where the session has ended meanwhile. */
export async function choose(
  inner: Tx,
  secret: Secret,
  { tenantId, memberId, asOperator }: PersonChoice,
): Promise<boolean> {
  const { count } = await inner`
    update console_sessions set tenant_id = ${tenantId}, member_id = ${memberId}, as_operator = ${asOperator}
    where digest = ${secret.digest} and email_key is not null`;
  return count > 0;
}

/** Uses the state of a sign-in up, which came back from the identity provider. Returns false where it was used before. */
export async function takeState(sql: AnySql, state: string): Promise<boolean> {
  const { count } = await sql`
    insert into console_sign_ins (state_digest, expires_at) values (${digest(state)}, now() + make_interval(mins => ${2 * oidcMinutes}))
    on conflict do nothing`;
  return count > 0;
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
  for (;;) {
    const { count } = await sql`
      delete from console_sign_ins where state_digest in (
        select state_digest from console_sign_ins where expires_at < now() limit ${sweepStepRows})`;
    if (count < sweepStepRows) break;
  }
  while ((await sweepGroupMembers(sql, groupMembersKeptDays, sweepStepRows)) === sweepStepRows);
}
