import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { addJob, addJobSql } from "../kernel/queue/add-job.ts";
import { type ChatAddress, type ChatPlatformName, inboxRowsMax } from "./schema.ts";

/**
 * The life of a received message (`chat_inbox`) and of the thread it waits in
 * (`chat_threads`); zero rows means that another process moved it first.
 *
 *     message:  insert ──▶ waiting ──▶ deleted: its turn is accepted (and waits in the
 *                                      line of the session while that is busy), or it
 *                                      is dropped, or refused with a notice
 *
 *     thread:   insert ──▶ without a session ──first turn──▶ with a session
 *                                                              │  ▲
 *                                         the session is deleted, the next
 *                                         message begins another one
 *
 * A conversation that got another id at its platform keeps its thread, under the new
 * key (`moveThreads`).
 *
 * A message leaves the inbox in the transaction that accepts its turn, so that
 * none is lost and none runs twice.
 */

/** The message that is next in a thread, with what its turn needs. */
export interface WaitingMessage {
  readonly id: number;
  readonly threadId: IdOf<"chatThread">;
  readonly threadKey: string;
  readonly sessionId: IdOf<"session"> | null;
  readonly userId: string;
  readonly author: string | null;
  readonly place: number;
  readonly text: string;
  readonly createdAt: Date;
  readonly connectionId: IdOf<"chatConnection">;
  readonly credentialVersion: number;
  readonly sealedCredentials: Buffer;
  readonly address: ChatAddress;
  readonly platform: ChatPlatformName;
  readonly enabled: boolean;
  readonly tenantId: IdOf<"tenant">;
  readonly agentId: IdOf<"agent">;
}

/** A message to put into the inbox. */
export interface NewInboxMessage {
  readonly connectionId: IdOf<"chatConnection">;
  /** Names of the event and of the message: inserted only when all are new. */
  readonly keys: readonly string[];
  readonly threadKey: string;
  /** Where the thread's replies are posted; the newest message's replaces the one before. */
  readonly address: object;
  readonly place: number;
  readonly userId: string;
  readonly author: string | null;
  readonly text: string;
}

/**
 * Puts a message into the inbox, with the job that begins its turn, and makes its
 * thread if it is new. Returns false when the message was known, or the thread has
 * too many that wait. One statement, so that all of it happens or none.
 */
export async function insertInboxMessage(sql: AnySql, message: NewInboxMessage): Promise<boolean> {
  const { connectionId, keys, threadKey, address, place, userId, author, text } = message;
  const rows = await sql`
    with fresh as (
      insert into chat_events (connection_id, key)
      select ${connectionId}, key from unnest(${keys as string[]}::text[]) key
      on conflict do nothing returning 1
    ), thread as (
      insert into chat_threads (id, connection_id, key, address)
      select ${newId("chatThread")}, ${connectionId}, ${threadKey}, ${json(sql, address)}
      where (select count(*) from fresh) = ${keys.length}
      on conflict (connection_id, key) do update set address = excluded.address
      returning id
    ), waiting as (
      insert into chat_inbox (thread_id, place, user_id, author, text)
      select id, ${place}, ${userId}, ${author}, ${text} from thread
      where (select count(*) from chat_inbox i where i.thread_id = thread.id) < ${inboxRowsMax}
      returning thread_id
    )
    select (${addInboxJob(sql)}).id
    from (select thread_id, (select c.tenant_id from chat_connections c where c.id = ${connectionId}) as tenant_id from waiting) w`;
  return rows.length > 0;
}

/** The thread's first message in the platform's order; null when none waits. */
export async function nextWaitingMessage(sql: AnySql, threadId: string): Promise<WaitingMessage | null> {
  const [row] = await sql<WaitingMessage[]>`
    select i.id, th.id as thread_id, th.key as thread_key, th.session_id, i.user_id, i.author, i.place, i.text, i.created_at,
      th.address, c.id as connection_id, c.credential_version, c.sealed_credentials, c.platform, c.enabled,
      c.tenant_id, c.agent_id
    from chat_inbox i join chat_threads th on th.id = i.thread_id join chat_connections c on c.id = th.connection_id
    where i.thread_id = ${threadId} order by i.place, i.id limit 1`;
  return row ?? null;
}

/** Another process moved the message, or gave the thread its session, just before. */
export class InboxMovedError extends Error {
  override readonly name = "InboxMovedError";
}

/**
 * Takes a message out of the inbox and gives its thread the session of its turn.
 * Throws `InboxMovedError`; then the caller's transaction must write nothing.
 */
export async function moveIntoSession(inner: Tx, waiting: WaitingMessage, sessionId: string | null): Promise<void> {
  const { count } = await inner`
    with taken as (delete from chat_inbox where id = ${waiting.id} returning thread_id)
    update chat_threads th set session_id = ${sessionId} from taken
    where th.id = taken.thread_id and th.session_id is not distinct from ${waiting.sessionId}`;
  if (count === 0) throw new InboxMovedError("The message was taken.");
}

/** Takes a message out of the inbox without a turn. False when it is gone already. */
export async function deleteInboxMessage(sql: AnySql, id: number): Promise<boolean> {
  const { count } = await sql`delete from chat_inbox where id = ${id}`;
  return count > 0;
}

/**
 * Gives the threads of a conversation the id that it has at the platform now. Where the
 * new one has a thread already, because somebody wrote there first, that one takes over
 * what waits in the old one, and its session when it has none.
 */
export async function moveThreads(inner: Tx, connectionId: string, from: string, to: string): Promise<void> {
  const old = inner`connection_id = ${connectionId} and (key = ${from} or starts_with(key, ${from} || ':'))`;
  const keyNow = inner`${to} || substr(th.key, ${from.length + 1}::int)`;
  const both = await inner<{ oldId: IdOf<"chatThread">; id: IdOf<"chatThread">; tenantId: IdOf<"tenant"> }[]>`
    select th.id as old_id, now.id, c.tenant_id from chat_threads th
    join chat_threads now on now.connection_id = th.connection_id and now.key = ${keyNow}
    join chat_connections c on c.id = th.connection_id
    where th.connection_id = ${connectionId} and (th.key = ${from} or starts_with(th.key, ${from} || ':'))
    order by th.id for update of th, now`;
  for (const { oldId, id, tenantId } of both) {
    await inner`update chat_inbox set thread_id = ${id} where thread_id = ${oldId}`;
    await inner`update chat_deliveries set thread_id = ${id} where thread_id = ${oldId}`;
    const [gone] = await inner<{ sessionId: string | null }[]>`
      delete from chat_threads where id = ${oldId} returning session_id`;
    await inner`
      update chat_threads set session_id = ${gone?.sessionId ?? null} where id = ${id} and session_id is null`;
    await addJob(inner, "chat.inbox", { threadId: id, tenantId });
    await addJob(inner, "chat.deliver", { threadId: id, tenantId });
  }
  await inner`
    update chat_threads th set key = ${keyNow},
      address = jsonb_set(address::jsonb, '{channel}', to_jsonb(${to}::text))::json
    where ${old}`;
}

/** Returns the SQL that adds the job that takes a thread's messages out of the inbox, for a query whose rows have `thread_id` and `tenant_id`. */
export function addInboxJob(sql: AnySql) {
  return addJobSql(sql, "chat.inbox", { threadId: sql`thread_id`, tenantId: sql`tenant_id` });
}
