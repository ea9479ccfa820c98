import type { Sql } from "../../src/kernel/database/client.ts";
import type { Message } from "./record.ts";

/** A turn as the database ended it. */
export interface TurnRecord {
  readonly id: string;
  /** The operation that asked for it. */
  readonly op: string | null;
  readonly sessionId: string | null;
  readonly status: string;
  readonly attempt: number;
  readonly trigger: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly continuationId: string | null;
  readonly assistantMessageId: string;
  readonly acceptedAt: Date;
  readonly claimedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly cancelRequested: boolean;
  readonly usageRows: number;
}

export interface SessionRecord {
  readonly id: string;
  readonly agentId: string;
  readonly deleted: boolean;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly turnId: string;
  readonly status: string;
  readonly input: { readonly text?: string } | null;
}

/** What a history left behind. */
export interface Remains {
  readonly turns: readonly TurnRecord[];
  readonly sessions: readonly SessionRecord[];
  readonly approvals: readonly ApprovalRecord[];
  /** The texts that tools saved. */
  readonly memories: readonly string[];
  /** Usage rows whose turn is gone, which there must not be. */
  readonly strayUsage: number;
  /** Transcripts of the sessions that are left, as a client reads them. */
  readonly transcripts: ReadonlyMap<string, readonly Message[]>;
  /** Turns counted by `GET /v1/usage`. */
  readonly requestCount: number;
}

/**
 * Copies the rows of deleted sessions aside as they are erased, so that a history can be
 * checked to its end.
 */
export async function keepErased(sql: Sql): Promise<void> {
  await sql`create schema erased`;
  await sql`
    create function erased.keep() returns trigger language plpgsql as $$
    begin
      execute format('insert into erased.%I select ($1).*', tg_table_name) using old;
      return old;
    end $$`;
  for (const table of ["turns", "sessions", "approvals"]) {
    await sql`create table erased.${sql(table)} (like public.${sql(table)})`;
    await sql`create trigger keep before delete on public.${sql(table)} for each row execute function erased.keep()`;
  }
}

/** Reads what the database holds, or held (`keepErased`), of a tenant. */
export async function readRows(sql: Sql, tenantId: string): Promise<Omit<Remains, "transcripts" | "requestCount">> {
  const turns = await sql<TurnRecord[]>`
    select id, metadata ->> 'op' as op, session_id, status, attempt, trigger, error,
      continuation_id, assistant_message_id, accepted_at,
      claimed_at, finished_at, cancel_requested_at is not null as cancel_requested,
      (select count(*)::int from usage u where u.turn_id = t.id) as usage_rows
    from (select * from turns union all select * from erased.turns) t
    where tenant_id = ${tenantId} order by coalesce(finished_at, accepted_at), id`;
  const sessions = await sql<SessionRecord[]>`
    select id, agent_id, deleted_at is not null as deleted
    from (select * from sessions union all select * from erased.sessions) s where tenant_id = ${tenantId}`;
  const approvals = await sql<ApprovalRecord[]>`
    select id, turn_id, status, input from (
      select * from approvals union all
      select * from erased.approvals a where exists (select 1 from erased.sessions s where s.id = a.session_id)
    ) a where tenant_id = ${tenantId}`;
  const memories = await sql<{ text: string }[]>`select text from memories where tenant_id = ${tenantId}`;
  const [stray] = await sql<{ n: number }[]>`
    select count(*)::int as n from usage u where tenant_id = ${tenantId} and not exists (
      select 1 from (select id from turns union all select id from erased.turns) t where t.id = u.turn_id)`;
  return { turns, sessions, approvals, memories: memories.map(({ text }) => text), strayUsage: stray?.n ?? 0 };
}

/** What still waits for somebody: turns, jobs that are due or locked, and locks of sessions. */
export async function readBusy(sql: Sql): Promise<{ turns: string[]; jobs: string[]; locks: number }> {
  const turns = await sql<{ said: string }[]>`
    select status || ' ' || coalesce(session_id, id) || ' attempt ' || attempt as said
    from turns where status in ('queued', 'running', 'waiting')`;
  const jobs = await sql<{ said: string }[]>`
    select t.identifier || ' ' || j.id || ' attempts ' || j.attempts || ' locked by ' || coalesce(j.locked_by, 'nobody')
      || ' ' || coalesce(left(j.last_error, 200), '') as said
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id`;
  const [held] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_locks where locktype = 'advisory' and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())`;
  return { turns: turns.map(({ said }) => said), jobs: jobs.map(({ said }) => said), locks: held?.n ?? 0 };
}
