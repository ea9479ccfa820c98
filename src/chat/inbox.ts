import { findTenant, tenantPrincipal } from "../kernel/auth/authenticator.ts";
import type { Ctx } from "../kernel/context.ts";
import { type AnySql, isUnavailable, json, type Tx, tx } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { acceptTurn } from "../sessions/accept/turn.ts";
import { addDeliverJob } from "../sessions/run/hand-over.ts";
import { findSession } from "../sessions/state/store.ts";
import { activeTurn } from "../sessions/state/turn.ts";
import type { ChatPlatformName } from "./schema.ts";

/** What the chat is told when a turn cannot even begin; why is the tenant's business, and stands in the log. */
const refusedText = "Sorry, I cannot answer right now.";

/** The message that is next in a thread, with what its turn needs. */
interface Waiting {
  readonly id: number;
  readonly threadId: string;
  readonly threadKey: string;
  readonly sessionId: string | null;
  readonly userId: string;
  readonly text: string;
  readonly connectionId: string;
  readonly credentialVersion: number;
  readonly platform: ChatPlatformName;
  readonly enabled: boolean;
  readonly tenantId: string;
  readonly agentId: string;
}

/**
 * The job `chat.inbox`: begins the turn of the first message that waits in a
 * thread. While the session is busy it does nothing, because the end of every
 * turn rings again. A message leaves the inbox in the transaction that accepts
 * its turn, so that none is lost and none runs twice.
 */
export async function drainInbox(ctx: Ctx, threadId: string): Promise<void> {
  for (;;) {
    const waiting = await nextWaiting(ctx.sql, threadId);
    if (waiting === null) return;
    if ((await begin(ctx, waiting)) === "wait") return;
  }
}

async function nextWaiting(sql: AnySql, threadId: string): Promise<Waiting | null> {
  const [row] = await sql<Waiting[]>`
    select i.id, th.id as "threadId", th.key as "threadKey", th.session_id as "sessionId", i.user_id as "userId", i.text,
      c.id as "connectionId", c.credential_version as "credentialVersion", c.platform, c.enabled,
      c.tenant_id as "tenantId", c.agent_id as "agentId"
    from chat_inbox i join chat_threads th on th.id = i.thread_id join chat_connections c on c.id = th.connection_id
    where i.thread_id = ${threadId} order by i.place, i.id limit 1`;
  return row ?? null;
}

/** Begins one message's turn: `wait` when the session is busy now, `next` when another message may be looked at. */
async function begin(ctx: Ctx, waiting: Waiting): Promise<"wait" | "next"> {
  const { tenantId, agentId, connectionId } = waiting;
  // Looked at first: an insert that meets a turn just ending would hold up its end.
  if (waiting.sessionId !== null && (await activeTurn(ctx.sql, waiting.sessionId)) !== null) return "wait";
  const tenant = waiting.enabled ? await findTenant(ctx.sql, tenantId) : null;
  if (tenant === null) return drop(ctx.sql, waiting);
  const session = waiting.sessionId === null ? null : await findSession(ctx.sql, tenantId, agentId, waiting.sessionId);
  try {
    await acceptTurn(ctx, {
      principal: tenantPrincipal(tenant),
      agentId,
      sessionId: session === null ? null : waiting.sessionId,
      body: {
        message: { id: newId("message"), role: "user", parts: [{ type: "text", text: waiting.text }] },
        userId: waiting.userId,
        metadata: { chatConnectionId: connectionId, chatPlatform: waiting.platform, chatThreadId: waiting.threadKey },
      },
      materialize: "on_accept",
      kind: "chat",
      requestId: newId("request"),
      key: null,
      alongside: (inner, accepted) => take(inner, waiting, accepted.sessionId),
    });
    // The turn that has just begun keeps the session busy, and rings at its end.
    return "wait";
  } catch (error) {
    if (error instanceof Moved) return "next";
    if (!(error instanceof ApiError) || isUnavailable(error) || error.reason === "service_unavailable") throw error;
    if (error.reason === "session_busy") return "wait";
    // The session was deleted in this very moment: the message begins a new one.
    if (error.reason === "not_found" && session !== null) return "next";
    ctx.log.info({ connectionId, tenantId, reason: error.reason }, "a chat message was refused");
    return refuse(ctx.sql, waiting);
  }
}

/** Somebody else took the message, or made the thread's session, just before. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** Takes the message out of the inbox and ties the thread to the session of its turn. Throws `Moved`, and then no turn is written. */
async function take(inner: Tx, waiting: Waiting, sessionId: string | null): Promise<void> {
  const { count } = await inner`
    with taken as (delete from chat_inbox where id = ${waiting.id} returning thread_id)
    update chat_threads th set session_id = ${sessionId} from taken
    where th.id = taken.thread_id and th.session_id is not distinct from ${waiting.sessionId}`;
  if (count === 0) throw new Moved("The message was taken.");
}

/** A message of a connection that is disabled, or whose tenant is gone, is not answered. */
async function drop(sql: AnySql, { id }: Waiting): Promise<"next"> {
  await sql`delete from chat_inbox where id = ${id}`;
  return "next";
}

/** Takes the message out of the inbox and tells the chat in one sentence that it is not answered. */
function refuse(sql: AnySql, waiting: Waiting): Promise<"next"> {
  const { id, threadId, connectionId, tenantId, credentialVersion, sessionId } = waiting;
  return tx<"next">(sql, async (inner) => {
    const { count } = await inner`delete from chat_inbox where id = ${id}`;
    if (count === 0) return "next";
    await inner`
      with said as (
        insert into chat_deliveries (id, tenant_id, connection_id, thread_id, kind, credential_version, session_id, parts)
        values (${newId("chatDelivery")}, ${tenantId}, ${connectionId}, ${threadId}, 'reply', ${credentialVersion}, ${sessionId},
          ${json(inner, [refusedText])})
        returning thread_id
      )
      select (${addDeliverJob(inner)}).id from said`;
    return "next";
  });
}
