import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import { addJob, addJobSql, hasLiveJobSql, jobKeySql } from "./add-job.ts";
import { type JobPayloads, jobKind } from "./catalogue.ts";

/**
 * The worker that sends a row, an expression of when the row may be sent, and when its send began. `sendMaxMs` later that send
 * has ended, even if its worker lives.
 */
const plainColumns = { sender: "sending_by", dueAt: "next_attempt_at", sentAt: "last_attempt_at" } as const;
/** They keep their own names, because the processes of a release go on to run on the schema of the next one; `claim_until` is when a send has ended. */
const chatColumns = {
  sender: "claim_worker",
  dueAt: "coalesce(not_before, created_at)",
  sentAt: "claim_until",
} as const;

/**
 * Outboxes: tables of what is to be sent to a server of somebody else. A row is written with what it tells of, and a job
 * sends what is due to one receiver:
 *
 *     pending ──claim──▶ sending ──what came of it──▶ ended, or pending again after a pause
 *                           │
 *                           └──its worker is lost──▶ (below)
 *
 * A row that is being sent is a pending one that names its worker, written before anything leaves: so of a row
 * whose worker is lost it is known that it may have arrived. What that means is the receiver's, and so is the row's end:
 *
 * | job                | table                | receiver        | a send whose worker is lost |
 * |--------------------|----------------------|-----------------|-----------------------------|
 * | `merchant.deliver` | `merchant_events`    | a connection    | is `uncertain`: a person decides, for a repeat may bill twice |
 * | `webhook.deliver`  | `webhook_deliveries` | a webhook       | is made again: the receiver tells repeats by the id |
 * | `chat.deliver`     | `chat_deliveries`    | a thread        | is `ambiguous`: a person decides, for a repeat may post twice |
 *
 * The moves of a slice are in its own file (`merchant/states.ts`, `webhooks/delivery-states.ts`, `chat/delivery-states.ts`).
 */
const outboxes = {
  "merchant.deliver": { table: "merchant_events", receiver: "connection_id", ...plainColumns, sendMaxMs: 180_000 },
  "webhook.deliver": { table: "webhook_deliveries", receiver: "webhook_id", ...plainColumns, sendMaxMs: 60_000 },
  "chat.deliver": { table: "chat_deliveries", receiver: "thread_id", ...chatColumns, sendMaxMs: 0 },
} as const;

/** An outbox, by the job that sends what is due in it. */
type Outbox = keyof typeof outboxes;

/** Rows that one statement of recovery moves at most, so that a large backlog is processed in steps. */
export const outboxStepRows = 500;
/** A job sends for this long, then another job goes on, so that other tenants' jobs come in between. */
const sendForMs = 10_000;

/** Returns the SQL of: the row waits, and nobody sends it. So the conditions of the indexes `…_due` say it. */
export function waitsSql(sql: AnySql, outbox: Outbox) {
  return sql`status = 'pending' and ${word(sql, outboxes[outbox].sender)} is null`;
}

/**
 * Returns the query of the ids of a receiver's rows that are due, those that have waited longest first, which the statement that claims
 * them has then locked. Rows that another worker claims are passed by.
 */
export function dueSql(sql: AnySql, outbox: Outbox, receiverId: string, limit: postgres.Fragment) {
  const { table, receiver, dueAt } = outboxes[outbox];
  return sql`select id from ${word(sql, table)}
      where ${word(sql, receiver)} = ${receiverId} and ${waitsSql(sql, outbox)} and ${word(sql, dueAt)} <= now()
      order by ${word(sql, dueAt)}, id limit ${limit} for update skip locked`;
}

/** Returns the query of the ids of sends whose worker is lost, or whose end is overdue; at most 500, which it locks. */
export function lostSendsSql(sql: AnySql, outbox: Outbox) {
  const { table, sender, sentAt, sendMaxMs } = outboxes[outbox];
  return sql`select id from ${word(sql, table)} d
      where status = 'pending' and ${word(sql, sender)} is not null and (
        ${word(sql, sentAt)} < now() - ${sendMaxMs} * interval '1 millisecond'
        or not exists (select 1 from workers w where w.id = d.${word(sql, sender)}))
      order by ${word(sql, sentAt)} limit ${outboxStepRows} for update skip locked`;
}

/**
 * Returns the SQL of a pause that grows with the time since when it was tried: `share` of it, or longer where the
 * receiver asks for that, within the bounds.
 */
export function growingPauseSql(
  sql: AnySql,
  { since, share = 1, asked = sql`0`, minMs, maxMs }: GrowingPause,
): postgres.Fragment {
  return sql`interval '1 millisecond' * least(${maxMs}, greatest(${minMs},
    extract(epoch from now() - ${since}) * ${1000 * share}, ${asked}))`;
}

interface GrowingPause {
  readonly since: postgres.Fragment;
  readonly share?: number;
  /** The pause that the receiver asks for, in milliseconds. */
  readonly asked?: postgres.Fragment;
  readonly minMs: number;
  readonly maxMs: number;
}

/** Returns the SQL that adds the job of a receiver, for a query whose rows have the receiver's column and `tenant_id`. At most one job of a receiver waits. */
export function addSendJobSql(sql: AnySql, outbox: Outbox) {
  const { receiver } = outboxes[outbox];
  const values = { [jobKind(outbox).key as string]: word(sql, receiver), tenantId: sql`tenant_id` };
  return addJobSql(sql, outbox, values as Parameters<typeof addJobSql<typeof outbox>>[2]);
}

/** Returns the SQL of: a job of the row's receiver waits or runs. That one sends this row too, and recovery finds what it just missed. */
export function hasSendJobSql(sql: AnySql, outbox: Outbox) {
  return hasLiveJobSql(sql, sql`(${jobKeySql(sql, outbox, word(sql, outboxes[outbox].receiver))})`);
}

/**
 * Adds the job of each receiver that has something due and no job; that is how a row is sent again after its pause. `isOpen`
 * is asked of the rows `due`, which have the receiver's column: whether the receiver may be sent something now.
 */
export async function enqueueDue(sql: AnySql, outbox: Outbox, isOpen: postgres.Fragment = sql`true`): Promise<void> {
  const { table, receiver, dueAt } = outboxes[outbox];
  const id = word(sql, receiver);
  // One step in the index for each receiver that something waits for, however much that is.
  await sql`
    with /* outbox.enqueue_due */ recursive waiting as (
      (select min(${id}) as receiver from ${word(sql, table)} where ${waitsSql(sql, outbox)})
      union all
      select (select min(${id}) from ${word(sql, table)} where ${waitsSql(sql, outbox)} and ${id} > waiting.receiver)
      from waiting where waiting.receiver is not null
    ), due as (
      select due.* from waiting cross join lateral (
        select ${id}, tenant_id from ${word(sql, table)}
        where ${id} = waiting.receiver and ${waitsSql(sql, outbox)} and ${word(sql, dueAt)} <= now()
        order by ${word(sql, dueAt)}, id limit 1
      ) due
    )
    select (${addSendJobSql(sql, outbox)}).id from due where ${isOpen} and not ${hasSendJobSql(sql, outbox)}`;
}

/** Sends in steps until one says that it is `done`. What is left after 10 s is sent by another job. */
export async function sendInSteps<N extends Outbox>(
  sql: AnySql,
  outbox: N,
  payload: JobPayloads[N],
  step: () => Promise<"more" | "done">,
): Promise<void> {
  const expiresAt = Date.now() + sendForMs;
  while (Date.now() < expiresAt) {
    if ((await step()) === "done") return;
  }
  await addJob(sql, outbox, payload);
}

/** A word of the table above as SQL. */
function word(sql: AnySql, text: string): postgres.Fragment {
  return sql.unsafe(text);
}
