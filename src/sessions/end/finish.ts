import type postgres from "postgres";
import { askedBytes } from "../../kernel/admission/stored-bytes.ts";
import { type AnySql, json } from "../../kernel/database/client.ts";
import { newId } from "../../kernel/ids.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";
import { turnsEnded, turnsFailed } from "../../kernel/telemetry/metrics.ts";
import { billEndedTurn } from "../../merchant/record.ts";
import { askMove, endContinuation } from "../state/continuation.ts";
import { endMoveOfMany, type PlainEnd, plainFence } from "../state/end-together.ts";
import { sessionBytes } from "../state/session-bytes.ts";
import { spendCredit, spendCreditOfMany } from "../state/spending.ts";
import { type EndedParts, endMove, type Fence, type TurnKind } from "../state/turn.ts";
import type { TurnOutcome } from "../state/turn-end.ts";
import { bookUsage, type UsedModel } from "./book-usage.ts";
import { handOverToChat } from "./hand-over.ts";
import { tellOutcome } from "./tell.ts";

/**
 * Ends a claim: the turn's status, transcript, session, continuation, approvals, usage,
 * usage event, credit, the task's run, the messages to its chat and the events for webhooks in
 * one statement, so that all of it happens or none. Returns false, having written nothing, when the claim
 * is gone (docs/architecture.md, "One turn at a time"), or when a turn whose cancellation
 * was asked for is to succeed.
 *
 * The session's row is locked before the turn's, as it is when a turn is accepted: in the
 * opposite order, a turn that is accepted while another one ends could deadlock with that
 * end.
 *
 * The statement has only the parts that can concern this claim, and no parameter switches
 * a part off: so Postgres plans it once per connection. A statement with all parts,
 * planned for each turn, took 2.6 ms to plan and 2.1 ms to run.
 */
export async function finishTurn(sql: AnySql, fence: Fence, outcome: TurnOutcome): Promise<boolean> {
  const parts = partsOf(fence, outcome);
  const [row] = await finish(sql, endMove(sql, fence, outcome, parts), outcome, parts, valuesOf(sql, outcome));
  if (row === undefined) return false;
  countEnd(row, outcome);
  return true;
}

/**
 * Ends several plain claims in one statement. Returns the ids of those turns that ended; to each of
 * the others happened nothing, for one of the reasons of `finishTurn`, or because another transaction holds its row.
 * `isQuiet`: see `Fence`.
 */
export async function finishTurns(
  sql: AnySql,
  ends: readonly PlainEnd[],
  isQuiet: boolean,
): Promise<ReadonlySet<string>> {
  const [{ claim, outcome }] = ends as [PlainEnd];
  const parts = partsOf(plainFence(claim, isQuiet), outcome);
  const rows = await finish(sql, endMoveOfMany(sql, ends, isQuiet), outcome, parts, valuesOfMany(sql, ends));
  for (const row of rows) countEnd(row, outcome);
  return new Set(rows.map(({ id }) => id));
}

interface EndedRow {
  readonly id: string;
  readonly kind: TurnKind;
}

/** Runs the statement that ends what `move` ends, with all that follows from it; `outcome` is that of each. */
function finish(
  sql: AnySql,
  move: postgres.Fragment,
  outcome: TurnOutcome,
  parts: Parts,
  values: EndValues,
): PromiseLike<EndedRow[]> {
  if (parts.isQuiet)
    return sql<EndedRow[]>`
      with /* turn.end */ ${move} ${writeMessages(sql, outcome, parts, values)} ${updateSession(sql, outcome, parts, values)},
        ${bookUsage(sql, values, parts.splits)} ${values.spent}
      select id, kind from ended`;
  const rings = parts.ends && parts.inSession;
  return sql<EndedRow[]>`
    with ${parts.ends ? sql`/* turn.end */` : sql`/* turn.ask */`} ${move}
    ${parts.cuts ? cutTranscript(sql) : sql``}
    ${parts.undoes ? undoMessages(sql) : sql``}
    ${writeMessages(sql, outcome, parts, values)}
    ${parts.inSession ? updateSession(sql, outcome, parts, values) : sql``}
    ${parts.continues ? endContinuation(sql, outcome, parts) : sql``}
    ${parts.ends ? sql`` : askMove(sql, outcome)}
    ${parts.ends ? meter(sql, outcome, parts, values) : sql``}
    ${rings ? ringNext(sql) : sql``}
    ${values.spent}
    ${parts.mayBeChat ? sql`, ${handOverToChat(sql, outcome, parts.leavesLine)}` : sql``}, ${tellOutcome(sql, outcome, parts)}
    select id, kind, (select count(*) from webhook_enqueued) ${parts.mayBeChat ? sql`, (select count(*) from chat_enqueued)` : sql``} ${parts.inSession && !parts.good ? sql`, (select count(*) from hidden_purge)` : sql``}
      ${rings ? sql`, (select count(*) from rung)` : sql``}
      ${parts.ends ? sql`, (select count(*) from enqueued)` : sql``} from ended`;
}

function countEnd({ kind }: EndedRow, { status, error }: TurnOutcome): void {
  turnsEnded.inc({ outcome: status, kind });
  if (status === "failed") turnsFailed.inc({ code: error?.code ?? "internal" });
}

/** What a claim's end writes beside the turn: parameters of a statement that ends one, columns of `ended` where it ends several. */
interface EndValues extends UsedModel {
  readonly messages: postgres.Fragment;
  readonly messageCount: postgres.Fragment;
  /** Null leaves the session's preview as it is. */
  readonly preview: postgres.Fragment | null;
  /** The CTE that takes what was used from the tenant's credit, with a comma before it. */
  readonly spent: postgres.Fragment;
  readonly eventId: postgres.Fragment;
}

function valuesOf(sql: AnySql, { messages, preview, usage }: TurnOutcome): EndValues {
  const { provider, providerType, model, inputTokens, outputTokens } = usage;
  return {
    messages: sql`${json(sql, messages)}`,
    messageCount: sql`${messages.length}`,
    preview: preview === null ? null : sql`${preview}`,
    provider: sql`${provider}::text`,
    providerType: sql`${providerType}::text`,
    model: sql`${model}::text`,
    spent: inputTokens + outputTokens === 0 ? sql`` : sql`, ${spendCredit(sql, usage, "ended")}`,
    eventId: sql`${newId("merchantEvent")}`,
  };
}

function valuesOfMany(sql: AnySql, ends: readonly PlainEnd[]): EndValues {
  const used = ends.some(({ outcome: { usage } }) => usage.inputTokens + usage.outputTokens > 0);
  return {
    messages: sql`new_messages`,
    messageCount: sql`new_message_count`,
    preview: sql`new_preview`,
    provider: sql`new_provider`,
    providerType: sql`new_provider_type`,
    model: sql`new_model`,
    spent: used ? sql`, ${spendCreditOfMany(sql)}` : sql``,
    eventId: sql`new_event_id`,
  };
}

/** Form A's session whose first turn failed is erased after this time, in seconds. */
const hiddenKeepSeconds = 30;

/** Which parts of the statement can concern a claim. */
interface Parts extends EndedParts {
  /**
   * The transcript is cut for a regeneration, only when that has succeeded or something of
   * it is kept: after any other one the previous answer stays.
   */
  readonly cuts: boolean;
  /** The turn failed or was cancelled, and what it did so far joins the transcript. */
  readonly keeps: boolean;
  /** The messages that a cancelled turn had written when it stopped to ask are removed. */
  readonly undoes: boolean;
  readonly isTask: boolean;
  /** Several models may have answered. */
  readonly splits: boolean;
  readonly mayBeChat: boolean;
  /** The turn may be one that waits in the line of its session. */
  readonly leavesLine: boolean;
}

function partsOf(
  { claim, statuses, checkpoints = true, isQuiet = false }: Fence,
  { status, messages, replaced }: TurnOutcome,
): Parts {
  const keeps =
    (status === "failed" && messages.length > 0) ||
    (status === "canceled" && (messages.length > 0 || replaced !== null));
  const continues = claim === undefined || claim.continuationId !== null;
  return {
    ends: status !== "waiting",
    good: status === "succeeded" || status === "waiting",
    inSession: claim === undefined || claim.sessionId !== null,
    continues,
    checkpoints,
    isQuiet,
    cuts: (status === "succeeded" || keeps) && (claim === undefined || claim.keepSeq !== null),
    keeps,
    undoes: status === "canceled" && continues && !keeps,
    isTask: claim === undefined || claim.kind === "task",
    splits: claim === undefined || claim.hasFallbacks,
    mayBeChat: claim === undefined || claim.kind === "chat",
    leavesLine: statuses.includes("enqueued"),
  };
}

function cutTranscript(sql: AnySql) {
  return sql`, cut as (
      delete from messages m using ended e
      where e.keep_seq is not null and m.session_id = e.session_id and m.seq > e.keep_seq
      returning m.bytes
    ), outgrown as (
      delete from session_summaries z using ended e
      where e.keep_seq is not null and z.session_id = e.session_id and z.upto_seq > e.keep_seq
    )`;
}

function undoMessages(sql: AnySql) {
  return sql`, undone as (
      delete from messages m using ended e where e.leg is not null and m.session_id = e.session_id and m.turn_id = e.id
      returning m.bytes
    )`;
}

/**
 * New places in the transcript start above every place that ever was, because
 * `max(seq)` is read from the snapshot before the cut; an answer that a
 * continuation extends moves to a new place, so that `after` cursors meet it again.
 */
function writeMessages(sql: AnySql, { messages, replaced }: TurnOutcome, { inSession }: Parts, values: EndValues) {
  if (!inSession) return sql``;
  const joined = sql`, joined as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select e.session_id, coalesce((select max(seq) from messages where session_id = e.session_id), 0) + n.place,
        n.message ->> 'id', n.message ->> 'role', e.id, n.message
      from ended e cross join json_array_elements(${values.messages}) with ordinality as n (message, place)
      where e.session_id is not null
    )`;
  const extended = sql`, extended as (
      update messages m set content = ${replaced === null ? null : json(sql, replaced)},
        seq = (select max(seq) from messages where session_id = e.session_id) + 1
      from ended e where m.session_id = e.session_id and m.id = e.assistant_message_id and m.role = 'assistant'
    )`;
  return sql`${messages.length === 0 ? sql`` : joined} ${replaced === null ? sql`` : extended}`;
}

/** What the session stores more: the new messages, as `messages.bytes` counts them (their list has no blanks), and what the turn was asked with, once it ends. */
function grownBytes(sql: AnySql, { messages, replaced }: TurnOutcome, parts: Parts, values: EndValues) {
  const { ends, cuts, undoes } = parts;
  const said =
    messages.length > 0 ? sql`+ octet_length(${values.messages}::text) - ${values.messageCount}::int - 1` : sql``;
  const anew =
    replaced === null
      ? sql``
      : sql`+ coalesce((select octet_length(${json(sql, replaced)}::text) - m.bytes from messages m
          where m.session_id = e.session_id and m.id = e.assistant_message_id and m.role = 'assistant' limit 1), 0)`;
  const asked = ends ? sql`+ ${askedBytes(sql, sql`e`)}` : sql``;
  const gone = undoes
    ? sql`- (select coalesce(sum(bytes), 0) from undone)`
    : cuts
      ? sql`- (select coalesce(sum(bytes), 0) from cut)`
      : sql``;
  // While a turn waited, its message was given decisions and results, which are counted only now.
  const before = parts.continues ? sql`${sessionBytes(sql)}` : sql`s.bytes`;
  return sql`${before} ${said} ${anew} ${asked} ${gone}`;
}

function updateSession(sql: AnySql, outcome: TurnOutcome, parts: Parts, values: EndValues) {
  const { status } = outcome;
  const { messageCount: more, preview } = values;
  const { good, keeps, cuts, undoes, leavesLine } = parts;
  // What was removed is counted as it goes: this statement may have waited for a turn's erasure, which its snapshot does not show.
  const removed = undoes ? sql`- (select count(*) from undone)` : cuts ? sql`- (select count(*) from cut)` : sql``;
  // A session that nobody ever saw stays for the turns in its line, and for the one that runs.
  const isUseless = leavesLine
    ? sql`e.first_of_hidden_session and not visible and s.line = case when e.before = 'enqueued' then 1 else 0 end and not exists (
        select 1 from turns o where o.session_id = s.id and o.id <> e.id and o.status in ('queued', 'running', 'waiting'))`
    : sql`e.first_of_hidden_session and not visible and s.line = 0`;
  return sql`, session as (
      update sessions s set message_count = message_count + ${more} ${removed}, bytes = ${grownBytes(sql, outcome, parts, values)}
        ${status === "succeeded" || keeps ? sql`, visible = true` : sql``}
        ${good || keeps ? sql`, updated_at = now()` : sql`, deleted_at = case when ${isUseless} then now() else deleted_at end`}
        ${leavesLine ? sql`, line = s.line - case when e.before = 'enqueued' then 1 else 0 end` : sql``}
        ${preview === null ? sql`` : sql`, last_message_preview = ${preview}`}
      from ended e where s.id = e.session_id
      returning s.id, s.tenant_id, e.first_of_hidden_session and not s.visible and s.deleted_at is not null as is_useless
    ) ${good ? sql`` : purgeHidden(sql)}`;
}

/** The first turn in the session's line starts when nothing else of it is unfinished. */
function ringNext(sql: AnySql) {
  return sql`, rung as (
      select (${addJobSql(sql, "session.next", { sessionId: sql`home.id`, tenantId: sql`e.tenant_id` })}).id
      from home join ended e on e.session_id = home.id where home.line > 0 and e.before <> 'enqueued'
    )`;
}

/** A session that nobody ever saw goes some time after its only turn has failed: by then its followers have read the end. */
function purgeHidden(sql: AnySql) {
  return sql`, hidden_purge as (
      select (${addJobSql(sql, "session.purge", { sessionId: sql`id`, tenantId: sql`tenant_id` }, { delaySeconds: hiddenKeepSeconds })}).id
      from session where is_useless
    )`;
}

/** Usage, the task's run, and the billing event of a turn that ends. */
function meter(sql: AnySql, { status, error, usageKnown }: TurnOutcome, { isTask, splits }: Parts, values: EndValues) {
  const ran = sql`, ran as (
      update task_runs r set finished_at = now(), updated_at = now(), (status, error, canceled_at) = (
        select case when canceled then 'canceled' else ${status} end,
          case when not canceled then ${error === null ? null : json(sql, error)}::json end, case when canceled then now() end
        from (select r.cancel_requested_at is not null or ${status === "canceled"}) as asked (canceled))
      from ended e where e.kind = 'task' and r.turn_id = e.id and r.status = 'running'
      returning r.*
    )`;
  return sql`, ${bookUsage(sql, values, splits)} ${isTask ? ran : sql``}, ${billEndedTurn(sql, { ...values, known: usageKnown, splits })}`;
}
