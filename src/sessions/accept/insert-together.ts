import { runnableVersion } from "../../agents/runnable.ts";
import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import { keyStands } from "../../kernel/auth/recalled-keys.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isTransient, isUnavailable } from "../../kernel/database/failure.ts";
import { acceptGroupCharsMax, acceptGroupMax, acceptPatienceMs } from "../../kernel/limits.ts";
import { hasParkedSql } from "../state/parked.ts";
import { newTurnJobs } from "../state/turn-job.ts";
import { insertPlainTurn, type PlainTurn } from "./insert.ts";
import { countQueued } from "./queued-turns.ts";

/** Whether a turn was written; null for one that has to be written alone, which finds the reason if it fails again. */
type Written = boolean | null;
const inserts = batcherFor(
  (sql: Sql) =>
    new Batcher<PlainTurn, Written>((turns) => insertGroup(sql, turns), {
      countMax: acceptGroupMax,
      gathers: true,
      size: { of: ({ input }) => JSON.stringify(input).length, max: acceptGroupCharsMax },
      patienceMs: acceptPatienceMs,
    }),
);

/**
 * Does what `insertPlainTurn` does, under load for many turns in one statement: while one
 * statement runs, the turns that arrive are collected for the next. Because of its
 * NOTIFY, a commit that adds a job waits for all other such commits, so that only about
 * 2,000 commits a second are possible, however many turns each of them writes. Returns
 * and throws the same as `insertPlainTurn`.
 */
export async function insertPlainTurnTogether(sql: Sql, turn: PlainTurn): Promise<boolean> {
  return (await inserts(sql).add(turn)) ?? insertPlainTurn(sql, turn);
}

async function insertGroup(sql: Sql, turns: readonly PlainTurn[]): Promise<Written[]> {
  const [first] = turns;
  if (first !== undefined && turns.length === 1) return [await insertPlainTurn(sql, first)];
  try {
    const rows = await insertAll(sql, turns);
    const written = new Set(rows.map(({ turnId }) => turnId));
    return turns.map(({ turnId }) => written.has(turnId) || null);
  } catch (error) {
    // A database that did not respond in time will not respond to single inserts either.
    if (isUnavailable(error) && !isTransient(error)) throw error;
    return turns.map(() => null);
  }
}

/**
 * Writes the turns that may be written at once. A session whose row another
 * transaction holds is left out, so that no turn waits for the session of another one.
 *
 * The limit lets nothing out: with it a plan for any number of turns looks no dearer to Postgres than one for
 * these, because it assumes that a limit it does not know lets through a tenth. Otherwise groups of up to four were planned anew each
 * time, which was most of what they took.
 */
function insertAll(sql: Sql, turns: readonly PlainTurn[]): PromiseLike<{ turnId: string }[]> {
  const texts = (of: (turn: PlainTurn) => string | null) => sql`${turns.map(of)}::text[]`;
  // The same for all turns: it is a setting of the process.
  const hasPlatformProvider = turns.every((turn) => turn.hasPlatformProvider);
  const version = sql`case when asked.new_session then asked.pinned_version else held.pinned_version end`;
  const agent = runnableVersion(sql, {
    tenantId: sql`asked.tenant_id`,
    agentId: sql`asked.agent_id`,
    version,
    hasPlatformProvider,
  });
  const stands = keyStands(sql, {
    digest: sql`key_digest`,
    tenantId: sql`t.tenant_id`,
    form: sql`t.form`,
    queuedTurns: sql`queued_turns_max::int`,
  });
  const { job, announced } = newTurnJobs(sql, "accepted");
  return sql<{ turnId: string }[]>`
    with /* turn.accept */ asked as materialized (
      select turn_id, tenant_id, agent_id, session_id, kind, new_session::boolean, visible::boolean, pinned_version::int,
        trigger, input::json, assistant_message_id, user_id, metadata::json, request_id, traceparent,
        queued_turns_max::int, is_counted::boolean, key_digest, form, row_number() over (partition by tenant_id) as place
      from (select * from unnest(${texts((turn) => turn.turnId)}, ${texts((turn) => turn.tenantId)}, ${texts((turn) => turn.agentId)},
        ${texts((turn) => turn.sessionId)}, ${texts((turn) => turn.kind)}, ${texts((turn) => String(turn.newSession))},
        ${texts((turn) => String(turn.visible))}, ${texts((turn) => numberText(turn.pinnedVersion))},
        ${texts((turn) => turn.trigger)}, ${texts((turn) => JSON.stringify(turn.input))},
        ${texts((turn) => turn.assistantMessageId)}, ${texts((turn) => turn.userId)},
        ${texts((turn) => JSON.stringify(turn.metadata))}, ${texts((turn) => turn.requestId)},
        ${texts((turn) => turn.traceparent)}, ${texts((turn) => turn.writeBefore.toISOString())},
        ${texts((turn) => numberText(turn.queuedTurnsMax))}, ${texts((turn) => String(turn.isCounted))},
        ${texts(({ recalled }) => recalled?.key ?? null)}, ${texts(({ recalled }) => recalled?.form ?? null)})
        as u(turn_id, tenant_id, agent_id, session_id, kind, new_session, visible, pinned_version, trigger, input,
          assistant_message_id, user_id, metadata, request_id, traceparent, write_before, queued_turns_max, is_counted, key_digest, form)
        limit ${turns.length}) t
      where clock_timestamp() < write_before::timestamptz and (key_digest is null or ${stands})
    ), line as materialized (
      select tenant_id, is_counted or ${hasParkedSql(sql, sql`tenants.tenant_id`)} as is_parked,
        case when queued_turns_max is not null then queued_turns_max - ${countQueued(sql, sql`tenants.tenant_id`, sql`queued_turns_max`)} end as places
      from (select tenant_id, min(queued_turns_max) as queued_turns_max, bool_or(is_counted) as is_counted
        from asked group by tenant_id) tenants
    ), held as materialized (
      select s.* from (select distinct session_id, tenant_id, agent_id from asked where not new_session) wanted
      -- One probe for each: a join with all sessions may read them all.
      cross join lateral (
        select id, tenant_id, agent_id, user_id, pinned_version from sessions
        where id = wanted.session_id and ${byKeyOnly(sql, sql`tenant_id`)} = wanted.tenant_id
          and ${byKeyOnly(sql, sql`agent_id`)} = wanted.agent_id and deleted_at is null and line = 0
          -- The unique index would wait for a transaction that moves a turn of the session now, and all others with it.
          and (select true from turns where session_id = wanted.session_id and status in ('queued', 'running', 'waiting') limit 1) is null
        for no key update skip locked
      ) s
    ), due as materialized (
      select asked.*, agent.version, line.is_parked, coalesce(held.user_id, asked.user_id) as turn_user_id
      from asked join line on line.tenant_id = asked.tenant_id left join held on held.id = asked.session_id
        -- Another caller's turn in this statement may be allowed what this one is not.
        and held.tenant_id = asked.tenant_id and held.agent_id = asked.agent_id and not asked.new_session
      cross join lateral (${agent}) agent
      where (asked.new_session or held.id is not null
          -- An id that the session has already is refused by whoever reads why nothing was written.
          and not exists (select 1 from messages m where m.session_id = held.id and m.id = asked.input->>'id')) and (line.places is null or asked.place <= line.places)
    ), made as (
      insert into sessions (id, tenant_id, agent_id, pinned_version, user_id, metadata, visible)
      select session_id, tenant_id, agent_id, pinned_version, user_id, metadata, visible from due where new_session
    ), accepted as (
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, trigger, input,
        assistant_message_id, first_of_hidden_session, user_id, metadata, request_id, traceparent, parked_at)
      select turn_id, tenant_id, agent_id, session_id, kind, version, trigger, input,
        assistant_message_id, new_session and not visible, turn_user_id, metadata, request_id, traceparent,
        case when is_parked then now() end
      from due
      on conflict (session_id) where status in ('queued', 'running', 'waiting') do nothing
      returning id, session_id, tenant_id, parked_at
    ), ${job}
    select id as turn_id, ${announced} from accepted`;
}

function numberText(value: number | null): string | null {
  return value === null ? null : String(value);
}
