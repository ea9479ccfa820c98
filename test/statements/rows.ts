import type postgres from "postgres";

/**
 * Fills the tables of turns, so that plans are those of an installation: few of its turns are unfinished. Few enough
 * that Postgres' statistics are of all rows, and not of a random part of them.
 */
export async function fillTables(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into tenants (id, name) select 'ten_' || n, 'tenant' from generate_series(1, 2000) n`;
  await sql`
    insert into api_keys (id, tenant_id, name, digest, fragment)
    select 'ak_' || n, 'ten_' || n, 'key', decode(md5(n::text), 'hex'), '' from generate_series(1, 2000) n`;
  await sql`
    insert into agents (id, tenant_id, name, config) select 'ag_' || n, 'ten_' || n, 'agent', '{}' from generate_series(1, 2000) n`;
  await sql`
    insert into agent_versions (agent_id, version, tenant_id, config)
    select 'ag_' || n, v, 'ten_' || n, '{}' from generate_series(1, 2000) n, generate_series(1, 3) v`;
  await sql`
    insert into providers (id, tenant_id, name, provider_type, sealed_key, key_fragment)
    select 'prov_' || n, 'ten_' || n, 'provider', 'custom', '', '' from generate_series(1, 2000) n`;
  await sql`
    insert into sessions (id, tenant_id, agent_id, visible, message_count, line)
    select 'ss_' || n, 'ten_' || n % 2000 + 1, 'ag_' || n % 2000 + 1, true, 4, case when n % 500 = 0 then 1 else 0 end
    from generate_series(1, 10000) n`;
  // Of the last turn of each hundredth session, one is running and one is queued, and so on.
  const states = ["queued", "running", "waiting", "enqueued"];
  await sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id, status, accepted_at, line_place)
    select 'turn_' || n || '_' || t, 'ten_' || n % 2000 + 1, 'ag_' || n % 2000 + 1, 'ss_' || n, 'session', 1, 'msg_' || n || '_' || t,
      status, now() - n * interval '1 minute', case when status = 'enqueued' then 1 end
    from generate_series(1, 10000) n, generate_series(1, 2) t, lateral (
      select case when t = 2 and n % 100 = 0 then (${states}::text[])[n / 100 % 4 + 1] else 'succeeded' end) as s (status)`;
  await sql`
    insert into messages (session_id, seq, id, role, turn_id, content)
    select 'ss_' || n, 2 * t - 1 + m, case when m = 1 then 'msg_' || n || '_' || t else 'u_' || n || '_' || t end,
      case when m = 1 then 'assistant' else 'user' end, 'turn_' || n || '_' || t, '{"parts":[]}'
    from generate_series(1, 10000 / 2) n, generate_series(1, 2) t, generate_series(0, 1) m`;
  await sql`
    insert into continuations (id, tenant_id, session_id, turn_id, status)
    select 'cont_' || n, 'ten_' || n % 2000 + 1, 'ss_' || n, 'turn_' || n || '_1', 'succeeded' from generate_series(1, 2000) n`;
  await sql`
    insert into approvals (id, tenant_id, session_id, turn_id, continuation_id, tool, tool_call_id, assistant_message_id, status)
    select 'ap_' || n, 'ten_' || n % 2000 + 1, 'ss_' || n, 'turn_' || n || '_1', 'cont_' || n, 'tool', 'call', 'msg_' || n || '_1', 'approved'
    from generate_series(1, 2000) n`;
  await sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, input_tokens, output_tokens, duration_ms, day)
    select id, tenant_id, agent_id, session_id, 1, 1, 1, '2026-01-01' from turns where status = 'succeeded'`;
  // Tables without rows are not analyzed: Postgres takes them for small ones that will have some.
  await sql`analyze tenants, api_keys, agents, agent_versions, providers, sessions, turns, messages, continuations, approvals, usage`;
}
