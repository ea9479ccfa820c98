import { type AnySql, json } from "../../kernel/database/client.ts";
import { newId } from "../../kernel/ids.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";
import { textsOf } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";

/** The text for the chat when a turn fails. */
const failedText = "Sorry, something went wrong and I could not finish my answer.";
/** The same when it could not even start, after it had waited in the line of its session. */
const refusedText = "Sorry, I cannot answer right now.";
/** The text for the chat when a turn was cancelled. */
const canceledText = "I was stopped before I could answer.";

/** The part of a claim's outcome that concerns a chat. */
interface ToldOutcome {
  readonly status: "succeeded" | "failed" | "canceled" | "waiting";
  readonly messages: readonly UiMessage[];
  readonly replaced: UiMessage | null;
}

/**
 * Returns the CTEs that hand the end of a claim over to its chat, in the statement that
 * ends the claim: they insert the reply and, 1 µs later, the approval cards as
 * deliveries, and add a job that posts them. They read `ended` (the turn's row) and `asked` (the approvals' ids); the
 * statement must read `chat_enqueued`, because Postgres adds no jobs in a `select` that
 * nothing reads. A session without a chat costs one lookup in an index. With `leavesLine` the turn
 * may be one that waited in a line, and never ran.
 */
export function handOverToChat(sql: AnySql, { status, messages, replaced }: ToldOutcome, leavesLine: boolean) {
  const message = replaced ?? messages.findLast(({ role }) => role === "assistant") ?? null;
  const says = status !== "waiting" || (message !== null && hasText(message));
  const told = status === "failed" ? failedText : status === "canceled" ? canceledText : null;
  const partCount = told === null ? (message?.parts.length ?? 0) : null;
  const text = (words: string) => json(sql, [words]);
  const parts =
    status === "failed" && leavesLine
      ? sql`case when refused then ${text(refusedText)}::json else ${text(failedText)}::json end`
      : told === null
        ? null
        : text(told);
  const reply = sql`, chat_reply as (
      insert into chat_deliveries (id, tenant_id, connection_id, thread_id, kind, credential_version, session_id, message_id, parts, upto_part)
      select ${newId("chatDelivery")}, tenant_id, connection_id, thread_id, 'reply', credential_version, session_id,
        assistant_message_id, ${parts}, ${partCount}::int
      from chat where speaks
    )`;
  const cards = sql`, chat_cards as (
      insert into chat_deliveries (id, tenant_id, connection_id, thread_id, kind, credential_version, session_id, message_id, approval_id, created_at)
      select 'cd_' || right(asked.id, 24), tenant_id, connection_id, thread_id, 'approval_card', credential_version, session_id,
        assistant_message_id, asked.id, now() + interval '1 microsecond'
      from chat cross join asked where speaks
    )`;
  // What is taken out of a line has begun nothing that the chat would hear the end of.
  const speaks =
    status === "canceled" && leavesLine ? sql`e.kind = 'chat' and e.before <> 'enqueued'` : sql`e.kind = 'chat'`;
  return sql`
    chat as (
      select th.id as thread_id, c.id as connection_id, c.tenant_id, c.credential_version, ${speaks} as speaks,
        e.before = 'enqueued' as refused, e.session_id, e.assistant_message_id
      from ended e join chat_threads th on th.session_id = e.session_id join chat_connections c on c.id = th.connection_id
    ) ${says ? reply : sql``} ${status === "waiting" ? cards : sql``}, chat_enqueued as (
      select (${addDeliverJob(sql)}).id as job from chat where speaks
    )`;
}

function hasText(message: UiMessage): boolean {
  return textsOf(message.parts).some((text) => text.trim() !== "");
}

/**
 * Returns the SQL that enqueues the delivery job of a thread, for a query whose rows have
 * `thread_id` and `tenant_id`. At most one job a thread waits at a time.
 */
export function addDeliverJob(sql: AnySql) {
  return addJobSql(sql, "chat.deliver", { threadId: sql`thread_id`, tenantId: sql`tenant_id` });
}

/** Returns the same for the job that takes a thread's messages out of the inbox. */
export function addInboxJob(sql: AnySql) {
  return addJobSql(sql, "chat.inbox", { threadId: sql`thread_id`, tenantId: sql`tenant_id` });
}

/** Enqueues the delivery of a session's approval cards, after one of its approvals was decided. Does nothing for a session without a chat. */
export async function enqueueCards(sql: AnySql, sessionId: string): Promise<void> {
  await sql`
    with /* chat.add_delivery */ thread as materialized (
      select th.id as thread_id, c.tenant_id from chat_threads th join chat_connections c on c.id = th.connection_id
      where th.session_id = ${sessionId})
    select (${addDeliverJob(sql)}).id from thread`;
}
