import type { AnySql, Sql } from "../kernel/database/client.ts";
import { derivedId, type IdOf } from "../kernel/ids.ts";
import { hasLiveJobSql, jobKeySql } from "../kernel/queue/add-job.ts";
import { textsOf } from "../messages/text.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { insertDeliveries, type NewDelivery } from "./delivery-states.ts";

/** The text for the chat when a turn fails. */
const failedText = "Sorry, something went wrong and I could not finish my answer.";
/** The same when it could not even start, after it had waited in the line of its session. */
const refusedText = "Sorry, I cannot answer right now.";
/** The text for the chat when a turn was cancelled. */
const canceledText = "I was stopped before I could answer.";

/** A turn of a chat that has stopped, and its thread. */
interface StoppedTurn {
  readonly threadId: IdOf<"chatThread">;
  readonly connectionId: IdOf<"chatConnection">;
  readonly tenantId: IdOf<"tenant">;
  readonly credentialVersion: number;
  readonly sessionId: IdOf<"session">;
  readonly messageId: IdOf<"message">;
  readonly status: "succeeded" | "failed" | "canceled" | null;
  /** It waited in the line of its session, and left it without having started. */
  readonly neverStarted: boolean;
  /** How many parts its message has. */
  readonly partCount: number | null;
}

/** A stop of a turn: its end, when the ids are the same, or a continuation that waits for answers. */
interface Stop {
  readonly turnId: string;
  readonly stopId: string;
}

/** Turns, and continuations, before a stop that are looked at, the latest first, for what their chat was not told yet. */
const earlierStopsMax = 50;

/**
 * Hands what a turn has said to its chat: its reply, and the approval cards of one that stops to ask, as deliveries with a
 * job that posts them. Part of the job `turn.after`; safe to repeat, because their ids are derived from what they are of.
 * Does nothing for a turn that is not a chat's.
 *
 * Such jobs run beside each other, or are tried again much later. So what the session's turns said before, and whose jobs
 * are not done, is handed over first: a thread has its answers in the order of its questions.
 */
export async function tellChat(sql: Sql, stop: Stop): Promise<void> {
  const turn = await readStopped(sql, stop.turnId);
  if (turn === null) return;
  for (const earlier of await earlierStops(sql, stop))
    await handOver(sql, await readStopped(sql, earlier.turnId), earlier);
  await handOver(sql, turn, stop);
}

/** The stops of a session before this one whose job `turn.after` runs or is still to run, the oldest first. */
function earlierStops(sql: AnySql, { turnId, stopId }: Stop): Promise<Stop[]> {
  return sql<Stop[]>`
    with /* chat.earlier_stops */ stop as (
      select t.session_id, coalesce(c.created_at, t.finished_at) as at
      from turns t left join continuations c on c.id = ${stopId}
      where t.id = ${turnId}
    ), earlier as (
      (select t.id as turn_id, t.id as stop_id, t.finished_at as at
       from stop join turns t on t.session_id = stop.session_id and t.finished_at < stop.at
       order by t.accepted_at desc limit ${earlierStopsMax})
      union all
      (select c.turn_id, c.id, c.created_at
       from stop join continuations c on c.session_id = stop.session_id and c.created_at < stop.at
       order by c.created_at desc limit ${earlierStopsMax})
    )
    select turn_id, stop_id from earlier
    where ${hasLiveJobSql(sql, jobKeySql(sql, "turn.after", sql`earlier.stop_id`))}
    order by at`;
}

async function handOver(sql: Sql, turn: StoppedTurn | null, { turnId, stopId }: Stop): Promise<void> {
  if (turn === null) return;
  const deliveries = stopId === turnId ? repliesOf(turn, stopId) : await asksOf(sql, turn, stopId);
  await insertDeliveries(sql, turn, deliveries);
}

async function readStopped(sql: AnySql, turnId: string): Promise<StoppedTurn | null> {
  const [row] = await sql<StoppedTurn[]>`
    select th.id as thread_id, c.id as connection_id, c.tenant_id, c.credential_version, t.session_id,
      t.assistant_message_id as message_id, case when t.finished_at is not null then t.status end as status,
      t.line_place is not null and t.queued_at is null as never_started, json_array_length(m.content -> 'parts') as part_count
    from turns t join chat_threads th on th.session_id = t.session_id join chat_connections c on c.id = th.connection_id
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId} and t.kind = 'chat'`;
  return row ?? null;
}

function repliesOf({ status, neverStarted, partCount }: StoppedTurn, stopId: string): NewDelivery[] {
  const reply = { id: derivedId("chatDelivery", stopId), kind: "reply", approvalId: null } as const;
  switch (status) {
    case null:
      return [];
    case "succeeded":
      return [{ ...reply, text: null, uptoPart: partCount ?? 0 }];
    case "failed":
      return [{ ...reply, text: neverStarted ? refusedText : failedText, uptoPart: null }];
    case "canceled":
      // What is taken out of a line has begun nothing that the chat would hear the end of.
      return neverStarted ? [] : [{ ...reply, text: canceledText, uptoPart: null }];
  }
}

/** Returns the words before the question, where there are any, and a card for each call that waits for a person. */
async function asksOf(sql: AnySql, turn: StoppedTurn, continuationId: string): Promise<NewDelivery[]> {
  const [said] = await sql<{ saidParts: number | null; content: UiMessage | null }[]>`
    select c.said_parts, m.content from continuations c
    left join messages m on m.session_id = c.session_id and m.id = ${turn.messageId} and m.role = 'assistant'
    where c.id = ${continuationId}`;
  const uptoPart = said?.saidParts ?? 0;
  const speaks = textsOf(said?.content?.parts.slice(0, uptoPart) ?? []).some((text) => text.trim() !== "");
  const approvals = await sql<{ id: IdOf<"approval"> }[]>`
    select id from approvals where continuation_id = ${continuationId} order by created_at, id`;
  const reply = { id: derivedId("chatDelivery", continuationId), kind: "reply", approvalId: null, text: null } as const;
  const cards = approvals.map(({ id: approvalId }) => {
    const id = derivedId("chatDelivery", approvalId);
    return { id, kind: "approval_card", approvalId, text: null, uptoPart: null } as const;
  });
  return [...(speaks ? [{ ...reply, uptoPart }] : []), ...cards];
}
