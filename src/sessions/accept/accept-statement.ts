import type postgres from "postgres";
import { runnableAgent } from "../../agents/runnable.ts";
import { judgeTurns, tallyTurns } from "../../budgets/accept.ts";
import { keyStands } from "../../kernel/auth/recalled-keys.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { statement } from "../../kernel/database/statement.ts";
import { keepTurnsSql, keyIsKnownSql } from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { type ClaimedRow, claimedColumns, claimedJoins } from "../state/claimed-row.ts";
import { historyOfTurn } from "../state/history.ts";
import { tryLock } from "../state/session-lock.ts";
import { mayBeTaken, takenColumns } from "../state/turn.ts";
import { newTurnJobs } from "../state/turn-job.ts";
import type { AcceptWord } from "./refusal.ts";
import { acceptRole } from "./role.ts";
import { askedTurns, type NewTurn } from "./turn-row.ts";

/** A turn, and the word for what became of it. */
interface WrittenTurn {
  readonly turnId: string;
  readonly word: AcceptWord;
}

/** A turn that a worker of this process was to take: `word` is `accepted` for one that has a job, or is parked, and null for one that was taken, whose columns there are then. */
export interface TakenRow extends ClaimedRow {
  readonly turnId: string;
  readonly word: AcceptWord | null;
  /** Whether its session's lock was taken. */
  readonly locked: boolean;
}

/**
 * Writes the turns that may be written, each with its job, and returns a word for each; none for one whose session another
 * statement has just given a turn. A turn alone `wait`s for the lock on its session, and its session's unique index refuses the whole statement. Of
 * several, those are left out (`skip`) whose session somebody holds, so that none waits for the session of another one.
 */
export function insertTurns(sql: AnySql, turns: readonly NewTurn[], mode: "wait" | "skip"): PromiseLike<WrittenTurn[]> {
  const concerns = concernsOf(turns, { waits: mode === "wait", takes: false });
  return acceptTurns(sql, concerns, { turns, workerId: null }) as unknown as PromiseLike<WrittenTurn[]>;
}

/**
 * Does the same, as with `skip`, on a worker's lock connection for turns that this worker has slots for: it claims those whose
 * session's lock is free, which need no job then. They have no Idempotency-Key, and their tenants no budgets.
 */
export function insertTaken(
  lockSql: Sql,
  turns: readonly NewTurn[],
  workerId: IdOf<"worker">,
): PromiseLike<TakenRow[]> {
  const concerns = concernsOf(turns, { waits: false, takes: true });
  return acceptTurns(lockSql, concerns, { turns, workerId }) as unknown as PromiseLike<TakenRow[]>;
}

/** What concerns the turns of a statement. */
type Concerns = Readonly<
  Record<"waits" | "one" | "begins" | "resumes" | "hasKeys" | "hasBudgets" | "hasPlatformProvider" | "takes", boolean>
>;

/** A turn alone has in its statement what concerns it: to have all in it costs a tenth more. */
function concernsOf(turns: readonly NewTurn[], how: Pick<Concerns, "waits" | "takes">): Concerns {
  const one = turns.length === 1;
  const hasBudgets = turns.some((turn) => turn.hasBudgets);
  // With budgets it is one text in either mode: few tenants have them, and a connection plans each text.
  const isAny = !one || hasBudgets;
  const resumes = turns.some(({ sessionId, newSession }) => sessionId !== null && !newSession);
  return {
    ...how,
    one,
    // One without a session has the text of one with a new session.
    begins: isAny || !resumes,
    resumes: isAny || resumes,
    hasKeys: hasBudgets || turns.some(({ key }) => key !== null),
    hasBudgets,
    // The same for all turns: it is a setting of the process.
    hasPlatformProvider: turns.every(({ hasPlatformProvider }) => hasPlatformProvider),
  };
}

interface AcceptValues {
  readonly turns: readonly NewTurn[];
  /** Who takes them; null: their jobs decide. */
  readonly workerId: IdOf<"worker"> | null;
}

const acceptTurns = statement<Concerns, AcceptValues, object>((sql, given, concerns) => {
  const { waits, begins, resumes, hasKeys, hasBudgets, takes, one } = concerns;
  const judged = hasBudgets ? sql`decided` : sql`due`;
  const decided = takes ? sql`offered` : judged;
  const taken = takenColumns(sql, sql`${given(({ workerId }) => workerId)}::text`, sql`is_locked`);
  const { job, announced } = newTurnJobs(sql, takes ? "unclaimed" : "accepted");
  return sql`
    with /* turn.accept */ ${askedTurns(sql, (read) => given(({ turns }, client) => read(turns, client)), one)},
    due as materialized (${dueTurns(sql, concerns)}),
    ${hasBudgets ? sql`${askBudgets(sql)},` : sql``} ${takes ? sql`offered as materialized (${lockOffered(sql, judged)}),` : sql``}
    ${begins ? sql`made as (${newSessions(sql, decided)}),` : sql``}
    accepted as (
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, trigger, input, keep_seq,
        assistant_message_id, first_of_hidden_session, user_id, metadata, request_id, traceparent, response_format, caller_options, parked_at
        ${takes ? taken.names : sql``})
      select turn_id, tenant_id, agent_id, session_id, kind, version, trigger, input, keep_seq,
        assistant_message_id, new_session and not visible, turn_user_id, metadata, request_id, traceparent, response_format,
        caller_options, case when is_parked then now() end ${takes ? taken.values : sql``}
      from ${decided} join asked using (turn_id) where word is null
      ${waits ? sql`` : sql`on conflict (session_id) where status in ('queued', 'running', 'waiting') do nothing`}
      returning ${takes ? sql`*` : sql`id, session_id, tenant_id, parked_at`}
    ), ${takes ? sql`unclaimed as (select id, session_id, tenant_id, parked_at from accepted where status = 'queued'),` : sql``}
    ${hasBudgets ? sql`${tallyTurns(sql)},` : sql``} ${hasKeys ? sql`kept as (${keepTurnsSql(sql)}),` : sql``} ${job}
    ${
      takes
        ? takenRows(sql, announced, resumes)
        : sql`select id as turn_id, 'accepted' as word, ${announced} from accepted
    union all select turn_id, word, null, null, null from ${decided} where word is not null`
    }`;
});

/** Returns the query that takes the locks of the sessions of turns that may be claimed at once. `is_locked` is null where none is tried. */
function lockOffered(sql: AnySql, judged: postgres.Fragment): postgres.Fragment {
  return sql`
      select ${judged}.*, case when word is null and is_current and ${mayBeTaken(sql)} then ${tryLock(sql, sql`coalesce(session_id, turn_id)`)} end as is_locked
      from ${judged} join asked using (turn_id)`;
}

/** Returns the query of the rows `TakenRow`. The first turn of a session has no history. */
function takenRows(sql: AnySql, announced: postgres.Fragment, resumes: boolean): postgres.Fragment {
  return sql`, announced as materialized (select id, ${announced} from unclaimed)
    select offered.turn_id, coalesce(word, case when accepted.id is null then 'busy' when accepted.status = 'queued' then 'accepted' end) as word,
      coalesce(is_locked, false) as locked, job, job_announced, announced, ${claimedColumns(sql, { goesOn: false })} ${resumes ? sql`, history.*` : sql``}
    from offered left join accepted on accepted.id = offered.turn_id left join announced using (id)
    left join accepted t on t.id = offered.turn_id and t.status = 'running' ${claimedJoins(sql)}
    ${resumes ? sql`left join lateral (${historyOfTurn(sql)}) history on true` : sql``}`;
}

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
  { waits, resumes, hasKeys, hasBudgets, hasPlatformProvider, takes }: Concerns,
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
  const isCurrent = sql`exists (
        select 1 from sessions s
        where s.id = asked.session_id and s.message_count = held.message_count and s.updated_at = held.updated_at)`;
  const messageWord = sql`
      when asked.message_id is not null and not ${isCurrent} then 'stale'
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
      ${takes ? sql`, ${resumes ? sql`asked.new_session or asked.session_id is null or ${isCurrent}` : sql`true`} as is_current` : sql``}
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
