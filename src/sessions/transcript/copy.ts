import { requireRoom } from "../../kernel/admission/stored-bytes.ts";
import { tooMany } from "../../kernel/admission/too-many.ts";
import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import { sleep } from "../../kernel/async/wait.ts";
import type { Tenant } from "../../kernel/auth/tenant.ts";
import type { Sql, Tx } from "../../kernel/database/client.ts";
import { unavailable } from "../../kernel/database/failure.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError, type ErrorCause } from "../../kernel/errors.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { databaseWaitMs } from "../../kernel/limits.ts";
import { addJob, removeJob } from "../../kernel/queue/add-job.ts";

/** Transcripts that a process copies at once; each takes a processor of Postgres for as long as it lasts. */
const copiesMax = 4;
const copiesPerTenantMax = 2;
/** One transaction copies at most so many messages, and about so many bytes, or one message: some 50 ms of Postgres. */
const stepRows = 1_000;
const stepBytes = 4 * 1024 * 1024;
/** After each step a copy rests for this part of the time that the step took, in which Postgres works for others. */
const restPart = 1 / 2;
/** A copy that takes longer is given up, in milliseconds. At rest one of 60,000 messages takes some 5 s. */
const copyMsMax = 60_000;
/** What was copied of a session that never came is erased after this time, in milliseconds; the copy has to be used long before. */
const eraseAfterMs = 5 * 60_000;
const useWithinMs = 2 * 60_000;
/** A transcript that is cut while it is copied is copied again, so often. */
const triesMax = 3;

const places = new SharedSlots(copiesMax, copiesPerTenantMax);

/** Whose transcript is copied, and up to where. */
export interface CopySource {
  readonly tenant: Pick<Tenant, "id" | "storedMib">;
  readonly agentId: string;
  readonly sessionId: string;
  /** The last message, or the turn whose messages are the last; null: all that are stored. */
  readonly through: { readonly messageId: string } | { readonly turnId: string } | null;
  /** The error where the session does not hold that one. */
  readonly missing: ErrorCause;
}

/** A transcript that is stored under the id of a session that is not there yet. */
export interface TranscriptCopy {
  readonly sessionId: IdOf<"session">;
  readonly source: CopySource;
  /** The place of the last message; null: there is none. */
  readonly throughSeq: string | null;
  readonly messages: number;
  readonly bytes: number;
  /** By the database's clock. */
  readonly begunAt: Date;
}

/** The source was cut meanwhile, so the copy is of no one moment. */
class TranscriptChanged extends Error {
  override readonly name = "TranscriptChanged";
}

/**
 * Copies a transcript for a new session, and has `use` make that session in a transaction that
 * calls `takeCopy`. The copy is made in bounded steps, each a transaction of its own, and rests between them:
 * so its length is bounded by time alone, and it delays nobody. What is copied for a session that does not come is
 * erased by a job, which is added before the first step.
 *
 * The source goes on meanwhile. Places stay, because a summary names one. Throws 404 where there is no such session or
 * message, 429 `rate_limited` without a place within `databaseWaitMs`, 503 for a copy that takes too long, and as `use`.
 */
export async function withCopy<T>(sql: Sql, source: CopySource, use: (copy: TranscriptCopy) => Promise<T>): Promise<T> {
  await requireRoomFor(sql, source);
  const release = await places.take(source.tenant.id, AbortSignal.timeout(databaseWaitMs)).catch(() => {
    throw tooMany("The tenant copies too many sessions at once.", copiesPerTenantMax);
  });
  try {
    for (let tries = 1; ; tries++) {
      const copy = await copyTranscript(sql, source);
      try {
        return await use(copy);
      } catch (error) {
        const isChanged = error instanceof TranscriptChanged;
        if (isChanged || error instanceof ApiError) await eraseCopy(sql, copy);
        if (!isChanged) throw error;
        if (tries === triesMax) throw unavailable();
      }
    }
  } finally {
    release();
  }
}

/** A copy takes as much as its source. Throws 429 `quota_exceeded`. */
async function requireRoomFor(sql: Sql, { tenant, sessionId }: CopySource): Promise<void> {
  if (tenant.storedMib === null) return;
  const [session] = await sql<{ bytes: number }[]>`
    select /* copy.size */ coalesce(bytes, 0) + pg_column_size(metadata) as bytes from sessions where id = ${sessionId} and tenant_id = ${tenant.id}`;
  await requireRoom(sql, tenant, session?.bytes ?? 0);
}

/** The job does nothing where the session was made all the same. */
function eraseCopy(sql: Sql, { sessionId, source }: TranscriptCopy): Promise<void> {
  return addJob(sql, "session.purge", { sessionId, tenantId: source.tenant.id });
}

async function copyTranscript(sql: Sql, source: CopySource): Promise<TranscriptCopy> {
  const startedMs = performance.now();
  const copy = await beginCopy(sql, source);
  let bytes = 0;
  // The newest first: only they may still change, and the first step has them as they are at one moment.
  let before = copy.throughSeq === null ? null : String(BigInt(copy.throughSeq) + 1n);
  while (before !== null) {
    const stepMs = performance.now();
    if (stepMs - startedMs > copyMsMax) throw unavailable();
    const step: CopiedStep = await copyStep(sql, copy, before);
    bytes += Number(step.bytes);
    before = step.first;
    if (before !== null) await sleep((performance.now() - stepMs) * restPart);
  }
  return { ...copy, bytes };
}

function beginCopy(sql: Sql, source: CopySource): Promise<TranscriptCopy> {
  return tx(sql, async (inner) => {
    const sessionId = newId("session");
    const { tenant, through } = source;
    await lockSource(inner, source);
    const last =
      through === null
        ? inner``
        : "turnId" in through
          ? inner`and turn_id = ${through.turnId}`
          : inner`and id = ${through.messageId}`;
    const [row] = await inner<{ throughSeq: string | null; messages: number; begunAt: Date }[]>`
      select /* copy.begin */ t.seq::text as through_seq, clock_timestamp() as begun_at,
        (select count(*)::int from messages where session_id = ${source.sessionId} and seq <= t.seq) as messages
      from (select max(seq) as seq from messages where session_id = ${source.sessionId} ${last}) t`;
    const { throughSeq, messages, begunAt } = row as { throughSeq: string | null; messages: number; begunAt: Date };
    if (throughSeq === null && through !== null) throw new ApiError(source.missing);
    const runAt = new Date(begunAt.getTime() + eraseAfterMs);
    await addJob(inner, "session.purge", { sessionId, tenantId: tenant.id }, { runAt });
    return { sessionId, source, throughSeq, messages, bytes: 0, begunAt };
  });
}

/**
 * Keeps a session, and what is erased of it, until the transaction ends; its turns go on. Nothing of a turn that was
 * erased may be copied after it, so this is a statement of its own: the next one sees what was erased before. From here on
 * the transcript is read along its index: where the planner knows little of the table, it read all of a session for each step.
 * Throws 404.
 */
async function lockSource(inner: Tx, { tenant, agentId, sessionId }: CopySource): Promise<void> {
  const [locked] = await inner`
    select /* copy.lock */ set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)
    from sessions s where id = ${sessionId} and tenant_id = ${tenant.id} and agent_id = ${agentId}
      and visible and deleted_at is null and exists (select 1 from agents a where a.id = s.agent_id)
    for key share of s`;
  if (locked === undefined) throw new ApiError("not_found");
}

interface CopiedStep {
  readonly bytes: string;
  /** The place of the first message that was copied; null: none was left. */
  readonly first: string | null;
}

function copyStep(sql: Sql, { sessionId, source }: TranscriptCopy, before: string): Promise<CopiedStep> {
  return tx(sql, async (inner) => {
    await lockSource(inner, source);
    const [step] = await inner<CopiedStep[]>`
      select /* copy.next */ coalesce(sum(bytes), 0)::text as bytes, min(seq)::text as first from (
        select seq, bytes, sum(bytes) over (order by seq desc) - bytes as newer from (
          select seq, bytes from messages where session_id = ${source.sessionId} and seq < ${before}::bigint
          order by seq desc limit ${stepRows}
        ) found
      ) weighed where newer < ${stepBytes}`;
    const { first } = step as CopiedStep;
    if (first !== null)
      await inner`
        insert /* copy.messages */ into messages (session_id, seq, id, role, turn_id, content)
        select ${sessionId}, seq, id, role, turn_id, content
        from messages where session_id = ${source.sessionId} and seq >= ${first}::bigint and seq < ${before}::bigint`;
    return step as CopiedStep;
  });
}

/**
 * Makes a copy a session's own, in the transaction that makes the session: with the summary of what was copied. Nobody can erase
 * anything of it from here on that this transaction would not show. Throws what has `withCopy` copy once more, and 404.
 */
export async function takeCopy(inner: Tx, copy: TranscriptCopy): Promise<void> {
  const { sessionId, source, throughSeq, messages, begunAt } = copy;
  await lockSource(inner, source);
  const [row] = await inner<{ isWhole: boolean }[]>`
    select /* copy.is_whole */ (select count(*) from messages where session_id = ${sessionId} and seq <= ${throughSeq}::bigint) = ${messages}
      and clock_timestamp() < ${new Date(begunAt.getTime() + useWithinMs)} as is_whole`;
  if (throughSeq !== null && row?.isWhole !== true) throw new TranscriptChanged();
  await inner`
    insert /* copy.summaries */ into session_summaries (session_id, upto_seq, text)
    select ${sessionId}, upto_seq, text from session_summaries
    where session_id = ${source.sessionId} and upto_seq <= ${throughSeq}::bigint`;
  await removeJob(inner, "session.purge", sessionId);
}
