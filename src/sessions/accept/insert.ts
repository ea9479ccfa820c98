import type postgres from "postgres";
import { runnableAgent } from "../../agents/runnable.ts";
import { judgeTurns, openSums, tallyTurns } from "../../budgets/accept.ts";
import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import { sleep } from "../../kernel/async/wait.ts";
import { keyStands } from "../../kernel/auth/recalled-keys.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { isTransient, isUnavailable, violatedConstraint } from "../../kernel/database/failure.ts";
import { statement } from "../../kernel/database/statement.ts";
import { ApiError } from "../../kernel/errors.ts";
import { keepTurnsSql, keyIsKnownSql } from "../../kernel/http/idempotency.ts";
import {
  acceptGroupCharsMax,
  acceptGroupMax,
  acceptPatienceMs,
  databaseWaitMs,
  groupPauseMs,
} from "../../kernel/limits.ts";
import { newTurnJobs } from "../state/turn-job.ts";
import type { AcceptWord } from "./refusal.ts";
import { acceptRole } from "./role.ts";
import { askedTurns, type NewTurn } from "./turn-row.ts";

/** A turn, and the word for what became of it. */
interface WrittenTurn {
  readonly turnId: string;
  readonly word: AcceptWord;
}

const insertsOf = () =>
  batcherFor(
    (sql: Sql) =>
      new Batcher<NewTurn, AcceptWord>((turns) => insertGroup(sql, turns), {
        countMax: acceptGroupMax,
        gathers: true,
        size: { of: ({ input }) => JSON.stringify(input).length, max: acceptGroupCharsMax },
        patienceMs: acceptPatienceMs,
        pauseMs: groupPauseMs,
      }),
  );
/** Turns of tenants with budgets are written apart, so that no other one pays for what is asked of them. */
const inserts = { plain: insertsOf(), budgeted: insertsOf() };

/**
 * Does what `insertTurn` does, outside a transaction, and repeats it when the connection breaks. Under load many turns share a statement: while
 * one runs, the turns that arrive are collected for the next. Because of its NOTIFY, a commit that adds a job waits for all
 * other such commits, so that only about 2,000 commits a second are possible, however many turns each of them writes.
 */
export async function insertTurnTogether(sql: Sql, turn: NewTurn): Promise<AcceptWord> {
  const word = await inserts[turn.hasBudgets ? "budgeted" : "plain"](sql).add(turn);
  return word === "locked" || word === "unopened" || word === "stale" ? insertAlone(sql, turn) : word;
}

function insertAlone(sql: Sql, turn: NewTurn): Promise<AcceptWord> {
  return untilSure(sql, turn.turnId, () => insertTurn(sql, turn), "accepted");
}

async function insertGroup(sql: Sql, turns: readonly NewTurn[]): Promise<AcceptWord[]> {
  const [first] = turns;
  if (first !== undefined && turns.length === 1) return [await insertAlone(sql, first)];
  try {
    const words = new Map((await insertTurns(sql, turns, "skip")).map(({ turnId, word }) => [turnId, word]));
    // Another turn of the session was written meanwhile.
    return turns.map(({ turnId }) => words.get(turnId) ?? "busy");
  } catch (error) {
    // A database that did not respond in time will not respond to single inserts either.
    if (isUnavailable(error) && !isTransient(error)) throw error;
    return turns.map(() => "locked");
  }
}

/**
 * Writes the session (if it is new), the turn and its job in one statement, and returns the word for what became of it. A
 * turn whose tenant has parked turns, or a limit of running turns, is parked, without a job. In a transaction, `busy` and `repeated` end that.
 */
export async function insertTurn(sql: AnySql, turn: NewTurn): Promise<AcceptWord> {
  try {
    const word = await insertOne(sql, turn);
    if (word !== "unopened") return word;
    await openSums(sql, turn);
    return await insertOne(sql, turn);
  } catch (error) {
    // The unique indexes decide, however many processes race.
    const constraint = violatedConstraint(error);
    if (constraint === "turns_one_active") return "busy";
    if (constraint === "idempotency_keys_pkey") return "repeated";
    throw error;
  }
}

/** A turn whose session grew while its statement waited is tried again so often; then the session is busy. */
const staleTriesMax = 5;

async function insertOne(sql: AnySql, turn: NewTurn): Promise<AcceptWord> {
  for (let tries = 0; tries < staleTriesMax; tries++) {
    const [written] = await insertTurns(sql, [turn], "wait");
    if (written?.word !== "stale") return written?.word ?? "busy";
  }
  return "busy";
}

/** Pause between attempts when the connection breaks during an insert. */
const retryPauseMs = 100;

/**
 * Runs what writes a turn. When the connection breaks it is unknown whether that was committed, so it is run again. If it was,
 * the second insert of the same id is refused, or whatever else refuses it by then, and that is a success: `written` is returned.
 */
async function untilSure<T>(sql: Sql, turnId: string, write: () => Promise<T>, written: T): Promise<T> {
  const expiresAt = Date.now() + databaseWaitMs;
  for (let isUnsure = false; ; isUnsure = true) {
    try {
      const result = await write();
      return isUnsure && result !== written && (await isWritten(sql, turnId)) ? written : result;
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === "turns_pkey" || constraint === "sessions_pkey") return written;
      if (isUnsure && error instanceof ApiError && (await isWritten(sql, turnId))) return written;
      if (!isTransient(error) || Date.now() + retryPauseMs > expiresAt) throw error;
      await sleep(retryPauseMs);
    }
  }
}

async function isWritten(sql: Sql, turnId: string): Promise<boolean> {
  return (await sql`select /* turn.is_written */ 1 from turns where id = ${turnId}`).length > 0;
}

/**
 * Writes the turns that may be written, each with its job, and returns a word for each; none for one whose session another
 * statement has just given a turn. A turn alone `wait`s for the lock on its session, and its session's unique index refuses the whole statement. Of
 * several, those are left out (`skip`) whose session somebody holds, so that none waits for the session of another one.
 *
 * A turn alone has in its statement what concerns it: to have all in it costs a tenth more.
 */
function insertTurns(sql: AnySql, turns: readonly NewTurn[], mode: "wait" | "skip"): PromiseLike<WrittenTurn[]> {
  const waits = mode === "wait";
  const hasBudgets = turns.some((turn) => turn.hasBudgets);
  // With budgets it is one text in either mode: few tenants have them, and a connection plans each text.
  const isAny = !waits || hasBudgets;
  const concerns: Concerns = {
    waits,
    one: turns.length === 1,
    begins: isAny || turns.some(({ newSession }) => newSession),
    resumes: isAny || turns.some(({ sessionId, newSession }) => sessionId !== null && !newSession),
    hasKeys: hasBudgets || turns.some(({ key }) => key !== null),
    hasBudgets,
    // The same for all turns: it is a setting of the process.
    hasPlatformProvider: turns.every(({ hasPlatformProvider }) => hasPlatformProvider),
  };
  return acceptTurns(sql, concerns, turns);
}

/** What concerns the turns of a statement. */
type Concerns = Readonly<
  Record<"waits" | "one" | "begins" | "resumes" | "hasKeys" | "hasBudgets" | "hasPlatformProvider", boolean>
>;

const acceptTurns = statement<Concerns, readonly NewTurn[], WrittenTurn>((sql, given, concerns) => {
  const { waits, begins, hasKeys, hasBudgets } = concerns;
  const decided = hasBudgets ? sql`decided` : sql`due`;
  const { job, announced } = newTurnJobs(sql, "accepted");
  return sql`
    with /* turn.accept */ ${askedTurns(sql, given, concerns.one)}, due as materialized (${dueTurns(sql, concerns)}),
    ${hasBudgets ? sql`${askBudgets(sql)},` : sql``} ${begins ? sql`made as (${newSessions(sql, decided)}),` : sql``}
    accepted as (
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, trigger, input, keep_seq,
        assistant_message_id, first_of_hidden_session, user_id, metadata, request_id, traceparent, response_format, caller_options, parked_at)
      select turn_id, tenant_id, agent_id, session_id, kind, version, trigger, input, keep_seq,
        assistant_message_id, new_session and not visible, turn_user_id, metadata, request_id, traceparent, response_format,
        caller_options, case when is_parked then now() end
      from ${decided} join asked using (turn_id) where word is null
      ${waits ? sql`` : sql`on conflict (session_id) where status in ('queued', 'running', 'waiting') do nothing`}
      returning id, session_id, tenant_id, parked_at
    ), ${hasBudgets ? sql`${tallyTurns(sql)},` : sql``} ${hasKeys ? sql`kept as (${keepTurnsSql(sql)}),` : sql``} ${job}
    select id as turn_id, 'accepted' as word, ${announced} from accepted
    union all select turn_id, word, null, null, null from ${decided} where word is not null`;
});

/** Returns the CTEs that ask the budgets of turns that may be written as far as everything else goes; `decided` is `due` with their word. */
function askBudgets(sql: AnySql): postgres.Fragment {
  const judged = judgeTurns(sql, {
    from: sql`(select turn_id, tenant_id, agent_id, turn_user_id from due join asked using (turn_id) where word is null) c`,
    turnId: sql`c.turn_id`,
    tenantId: sql`c.tenant_id`,
    agentId: sql`c.agent_id`,
    userId: sql`c.turn_user_id`,
  });
  return sql`${judged}, decided as materialized (
      select due.turn_id, version, turn_user_id, coalesce(word, case
        when exceeded is not null then 'budget:' || exceeded
        when is_unopened then 'unopened'
        when is_beyond then 'locked' end) as word
      from due left join judged using (turn_id)
    )`;
}

function newSessions(sql: AnySql, decided: postgres.Fragment): postgres.Fragment {
  return sql`
    insert into sessions (id, tenant_id, agent_id, pinned_version, user_id, metadata, visible, first_message_preview)
    select session_id, tenant_id, agent_id, pinned_version, user_id, metadata, visible, first_preview
    from ${decided} join asked using (turn_id) where new_session and word is null`;
}

/** Returns the query that decides on each turn of `asked`: `word` is why it is refused, null where it is to be written. The session's row is locked, so that it cannot be deleted at the same time. */
function dueTurns(
  sql: AnySql,
  { waits, resumes, hasKeys, hasBudgets, hasPlatformProvider }: Concerns,
): postgres.Fragment {
  const pinned = resumes
    ? sql`case when asked.new_session then asked.pinned_version else held.pinned_version end`
    : sql`asked.pinned_version`;
  const agent = runnableAgent(sql, {
    tenantId: sql`asked.tenant_id`,
    agentId: sql`asked.agent_id`,
    version: sql`coalesce(asked.agent_version, ${pinned})`,
    hasPlatformProvider,
  });
  const key = {
    digest: sql`asked.key_digest`,
    tenantId: sql`asked.tenant_id`,
    form: sql`asked.form`,
    queuedTurns: sql`asked.queued_turns_max`,
    hasBudgets,
  };
  const stands = keyStands(sql, key, { role: acceptRole, agentId: sql`asked.agent_id` });
  const heldWords = sql`
      when not asked.new_session and asked.session_id is not null and held.id is null then ${waits ? "gone" : "locked"}
      when held.line > 0 then 'line'`;
  // The messages are those of when the statement began; the session is as it is now that it is locked.
  const messageWord = sql`
      when asked.message_id is not null and not exists (
        select 1 from sessions s
        where s.id = asked.session_id and s.message_count = held.message_count and s.updated_at = held.updated_at) then 'stale'
      when asked.message_id is not null and exists (
        select 1 from messages m where m.session_id = asked.session_id and m.id = asked.message_id) then 'twice'`;
  return sql`
    select asked.turn_id, agent.version, ${resumes ? sql`coalesce(held.user_id, asked.user_id)` : sql`asked.user_id`} as turn_user_id, case
      when asked.key_digest is not null and not ${stands} then 'key'
      ${hasKeys ? sql`when ${keyIsKnownSql(sql)} then 'repeated'` : sql``}
      when clock_timestamp() >= asked.write_before then 'late'
      when asked.is_full then 'full'
      ${resumes ? heldWords : sql``}
      when agent.id is null then 'not_found'
      when agent.refusal is not null then agent.refusal
      ${resumes ? messageWord : sql``} end as word
    from asked ${resumes ? sql`left join lateral (${heldSession(sql, waits)}) held on true` : sql``}
    left join lateral (${agent}) agent on true`;
}

/** Returns the query that locks the session of a turn that is asked for. */
function heldSession(sql: AnySql, waits: boolean): postgres.Fragment {
  // The unique index would wait for a transaction that moves a turn of the session now, and all others with it.
  const isIdle = sql`and (
      select true from turns where session_id = asked.session_id and status in ('queued', 'running', 'waiting') limit 1) is null`;
  return sql`
    select id, user_id, pinned_version, line, message_count, updated_at from sessions
    where id = asked.session_id and not asked.new_session and ${byKeyOnly(sql, sql`tenant_id`)} = asked.tenant_id
      and ${byKeyOnly(sql, sql`agent_id`)} = asked.agent_id and deleted_at is null ${waits ? sql`` : isIdle}
    for no key update ${waits ? sql`` : sql`skip locked`}`;
}
