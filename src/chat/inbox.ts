import { tenantPrincipal } from "../kernel/auth/authenticator.ts";
import { findTenant } from "../kernel/auth/tenant.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Sql } from "../kernel/database/client.ts";
import { isUnavailable } from "../kernel/database/failure.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, type ErrorCause } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { passingMsMax, passingPauseMs } from "../kernel/limits.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { isBlank } from "../messages/blank.ts";
import { acceptTurn } from "../sessions/accept/turn.ts";
import { findSession } from "../sessions/state/store.ts";
import { insertNotice } from "./delivery-states.ts";
import {
  deleteInboxMessage,
  InboxMovedError,
  moveIntoSession,
  nextWaitingMessage,
  type WaitingMessage,
} from "./inbox-states.ts";
import { PlatformError } from "./platform.ts";
import { openConnectedChat } from "./platforms.ts";
import { showWorkMs } from "./schema.ts";

/** Refusals that pass by themselves. */
const passing: ReadonlySet<ErrorCause> = new Set(["too_many_turns", "merchant_eligibility_unavailable"]);
/** What the chat is told when a turn cannot begin. The reason concerns the tenant only, and is in the log. */
const refusedText = "Sorry, I cannot answer right now.";
/** What somebody is told whose message has nothing that can be read: a sticker, a recording. */
const unreadableText = "Sorry, I can only read text.";

/**
 * The job `chat.inbox`: takes the messages of a thread out of the inbox, in the platform's
 * order. Each becomes a turn of the thread's session, and where that is busy, a turn in its line.
 */
export async function drainInbox(ctx: Ctx, threadId: string): Promise<void> {
  for (;;) {
    const waiting = await nextWaitingMessage(ctx.sql, threadId);
    if (waiting === null) return;
    if ((await begin(ctx, waiting)) === "wait") return;
  }
}

/** Accepts one message's turn. Returns `wait` when none can be accepted just now, `next` when it is the next message's turn. */
async function begin(ctx: Ctx, waiting: WaitingMessage): Promise<"wait" | "next"> {
  const { tenantId, agentId, connectionId } = waiting;
  const tenant = waiting.enabled ? await findTenant(ctx.sql, tenantId) : null;
  if (tenant === null) {
    // The connection is disabled or its tenant deleted: the message gets no turn.
    await deleteInboxMessage(ctx.sql, waiting.id);
    return "next";
  }
  if (isBlank(waiting.text)) {
    await refuse(ctx.sql, waiting, unreadableText);
    return "next";
  }
  const session = waiting.sessionId === null ? null : await findSession(ctx.sql, tenantId, agentId, waiting.sessionId);
  try {
    await acceptTurn(ctx, {
      principal: tenantPrincipal(tenant),
      agentId,
      sessionId: session === null ? null : waiting.sessionId,
      body: {
        onBusy: "enqueue",
        message: { id: newId("message"), role: "user", parts: [{ type: "text", text: waiting.text }] },
        userId: waiting.userId,
        metadata: {
          ...{ chatConnectionId: connectionId, chatPlatform: waiting.platform, chatThreadId: waiting.threadKey },
          ...(waiting.author === null ? {} : { chatUserId: waiting.author }),
        },
      },
      materialize: "on_accept",
      kind: "chat",
      requestId: newId("request"),
      key: null,
      alongside: (inner, accepted) => moveIntoSession(inner, waiting, accepted.sessionId),
    });
    await showWork(ctx, waiting);
    return "next";
  } catch (error) {
    if (error instanceof InboxMovedError) return "next";
    if (!(error instanceof ApiError) || isUnavailable(error) || error.reason === "service_unavailable") throw error;
    const isYoung = Date.now() - waiting.createdAt.getTime() < passingMsMax;
    // The line is as long as it may be: it gets shorter, sooner or later.
    if (error.reason === "session_busy" || (passing.has(error.reason) && isYoung)) {
      await addJob(
        ctx.sql,
        "chat.inbox",
        { threadId: waiting.threadId, tenantId: waiting.tenantId },
        { runAt: new Date(Date.now() + passingPauseMs) },
      );
      return "wait";
    }
    // The session was deleted just now: the message begins a new one.
    if (error.reason === "not_found" && session !== null) return "next";
    ctx.log.info({ connectionId, tenantId, reason: error.reason }, "a chat message was refused");
    await refuse(ctx.sql, waiting, refusedText);
    return "next";
  }
}

/** Shows in the chat that an answer is under way. Nothing depends on it: a platform that does not take it is left alone. */
async function showWork(ctx: Ctx, { connectionId, address, place, ...row }: WaitingMessage): Promise<void> {
  try {
    await openConnectedChat(ctx, { ...row, id: connectionId }, showWorkMs).showWork(address, Number(place));
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    ctx.log.debug({ connectionId, code: error.code }, "a chat does not show that an answer is under way");
  }
}

/** Takes the message out of the inbox and tells the chat in one sentence why it gets no answer. */
function refuse(sql: Sql, waiting: WaitingMessage, text: string): Promise<void> {
  return tx(sql, async (inner) => {
    if (await deleteInboxMessage(inner, waiting.id)) await insertNotice(inner, waiting, text);
  });
}
