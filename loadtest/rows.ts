import postgres from "postgres";
import type { IdOf } from "../src/kernel/ids.ts";
import type { Stand } from "./stand.ts";

/** What was seeded, and the sessions to look at. */
export interface Seeded {
  /** A session of 10 messages, another one, and one of 2,000. */
  readonly shortId: IdOf<"session">;
  readonly otherId: IdOf<"session">;
  readonly longId: IdOf<"session">;
  /** An agent that ran few of the turns, the oldest. */
  readonly rareAgentId: string;
  readonly turns: number;
}

/** Messages of the long session, and of the short ones. */
const longMessages = 2_000;
const shortMessages = 10;
/** Sessions of one end user: the same on every size, so that a user's list is as long. */
const sessionsPerUser = 100;
const tables = ["sessions", "messages", "turns", "usage"];
/** Days over which they were spread, within what usage shows by default. */
const days = 28;
/** Sessions that one statement seeds: so that no statement's work outgrows memory. */
const stepSessions = 100_000;

/**
 * Writes sessions with their messages, turns and usage as if they had happened,
 * in SQL, so that ten million take minutes. Session 1 is short, 2 too, 3 is long;
 * of the others each has its share of the messages.
 */
export async function seedRows(
  stand: Stand,
  { sessions, messages }: { readonly sessions: number; readonly messages: number },
): Promise<Seeded> {
  const sql = postgres(stand.databaseUrl, { max: 1, onnotice: () => {} });
  try {
    // Lost rows would be seeded again; and checkpoints every gigabyte would write each page several times.
    await sql`set synchronous_commit = off`;
    await sql`alter system set max_wal_size = '8GB'`;
    await sql`select pg_reload_conf()`;
    const [agent] = await sql<{ user_id: string }[]>`select user_id from agents where id = ${stand.agentId}`;
    if (agent === undefined) throw new Error("The stand has no agent.");
    const share = Math.max(2, Math.round((messages - longMessages) / sessions / 2) * 2);
    const rareAgentId: string = (
      await stand.call("POST", "/v1/agents", { name: "rare", model: "simulated/model", providerId: stand.providerId })
    ).id;
    const users = Math.max(1, Math.round(sessions / sessionsPerUser));
    await withoutIndexes(sql, async () => {
      for (let from = 1; from <= sessions; from += stepSessions)
        await seedStep(
          sql,
          { ...stand, rareAgentId },
          { from, to: Math.min(sessions, from + stepSessions - 1), share, users },
        );
    });
    await addUp(sql, "usage_sums", ["tenant_id", "day", "agent_id", "provider", "model"]);
    await addUp(sql, "usage_user_sums", ["tenant_id", "day", "user_id", "agent_id", "provider", "model"]);
    await sql`
      insert into usage_session_tokens (tenant_id, session_id, tokens)
      select tenant_id, session_id, sum(input_tokens + output_tokens) from usage group by 1, 2`;
    for (const table of [...tables, "usage_sums", "usage_user_sums", "usage_session_tokens"])
      await sql`vacuum analyze ${sql(table)}`;
    const [row] = await sql<{ turns: string }[]>`select count(*) as turns from turns`;
    const id = (n: number): IdOf<"session"> => `ss_${n.toString(16).padStart(24, "0")}`;
    return { shortId: id(1), otherId: id(2), longId: id(3), rareAgentId, turns: Number(row?.turns) };
  } finally {
    await sql.end();
  }
}

/** Takes the tables' indexes away, but for those that are constraints, and makes them anew: faster than to keep them. */
async function withoutIndexes(sql: postgres.Sql, work: () => Promise<void>): Promise<void> {
  const indexes = await sql<{ indexname: string; indexdef: string }[]>`
    select indexname, indexdef from pg_indexes
    where schemaname = 'public' and tablename = any(${tables}) and indexname not in (select conname from pg_constraint)`;
  for (const { indexname } of indexes) await sql`drop index ${sql(indexname)}`;
  await work();
  await sql`set maintenance_work_mem = '512MB'`;
  for (const { indexdef } of indexes) await sql.unsafe(indexdef);
}

interface Step {
  readonly from: number;
  readonly to: number;
  readonly share: number;
  readonly users: number;
}

/** All turns at once, as the service's job adds them up by and by. */
async function addUp(sql: postgres.Sql, table: string, keys: readonly string[]): Promise<void> {
  await sql`
    insert into ${sql(table)} (${sql(keys as string[])}, turns, input_tokens, output_tokens, duration_ms)
    select ${sql(keys as string[])}, count(*), sum(input_tokens), sum(output_tokens), sum(duration_ms)
    from usage group by ${sql(keys as string[])}`;
}

async function seedStep(
  sql: postgres.Sql,
  { tenantId, agentId, rareAgentId }: Stand & { readonly rareAgentId: string },
  { from, to, share, users }: Step,
): Promise<void> {
  const id = (prefix: string, number: postgres.Fragment) =>
    sql`${`${prefix}_`}::text || lpad(to_hex(${number}), 24, '0')`;
  // Turn t of session s, of which no session has more than 1,048,576.
  const turnNumber = sql`s::bigint * 1048576 + t`;
  const turnsOf = sql`(case when s <= 2 then ${shortMessages}::int when s = 3 then ${longMessages}::int else ${share}::int end) / 2`;
  const series = sql`generate_series(${from}::int, ${to}::int) s`;
  const at = sql`(now() - make_interval(secs => (s::bigint * 7919 % (${days} * 86400))::int))`;
  const user = sql`'user-' || s % ${users}::int`;
  // Of the turns 1 in 100 failed. Twenty sessions each were canceled, of a chat, and of the rare agent: as few at every size.
  const rare = sql`case when s between 501 and 520 then ${rareAgentId} else ${agentId} end`;
  const kind = sql`case when s between 521 and 540 then 'chat' else 'session' end`;
  const status = sql`case when s between 541 and 560 then 'canceled' when s % 100 = 0 then 'failed' else 'succeeded' end`;
  await sql`
    insert into sessions (id, tenant_id, agent_id, user_id, visible, message_count, last_message_preview, created_at, updated_at)
    select ${id("ss", sql`s`)}, ${tenantId}, ${agentId}, ${user}, true, 2 * ${turnsOf}, 'chunk-1 chunk-2 chunk-3', ${at}, ${at}
    from ${series}`;
  await sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, status, attempt, agent_version, input,
      assistant_message_id, user_id, input_tokens, output_tokens, model_calls, run_ms, accepted_at, claimed_at, finished_at)
    select ${id("turn", turnNumber)}, ${tenantId}, ${rare}, ${id("ss", sql`s`)}, ${kind}, ${status}, 1, 1,
      json_build_object('id', 'u' || t, 'role', 'user', 'parts', json_build_array(json_build_object('type', 'text', 'text', 'How is the weather, number ' || t || '?'))),
      ${id("msg", turnNumber)}, ${user}, 20, 30, 1, 900, ${at}, ${at}, ${at}
    from ${series}, generate_series(1, ${turnsOf}) t`;
  await sql`
    insert into messages (session_id, seq, id, role, turn_id, content, created_at)
    select ${id("ss", sql`s`)}, 2 * t - 2 + m, case m when 1 then 'u' || t else ${id("msg", turnNumber)} end,
      case m when 1 then 'user' else 'assistant' end, ${id("turn", turnNumber)},
      json_build_object('id', case m when 1 then 'u' || t else ${id("msg", turnNumber)} end,
        'role', case m when 1 then 'user' else 'assistant' end,
        'parts', json_build_array(json_build_object('type', 'text', 'text', 'It is sunny, and will be for days; number ' || t))), ${at}
    from ${series}, generate_series(1, ${turnsOf}) t, generate_series(1, 2) m`;
  await sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
      duration_ms, day, created_at, summed, user_summed, session_summed, parts_summed)
    select ${id("turn", turnNumber)}, ${tenantId}, ${agentId}, ${id("ss", sql`s`)}, ${user}, 'custom', 'simulated/model',
      20, 30, 900, (${at} at time zone 'UTC')::date, ${at}, true, true, true, true
    from ${series}, generate_series(1, ${turnsOf}) t`;
}
