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
  /** Claims that ended with the death of their worker, within the step in which the turn ended, but for the last one. */
  readonly crashes: number;
  /** Claims before that step. */
  readonly attemptsBefore: number;
  /** Steps with a checkpoint. */
  readonly stepsDone: number;
  readonly trigger: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly continuationId: string | null;
  readonly assistantMessageId: string;
  readonly acceptedAt: Date;
  readonly claimedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly cancelRequested: boolean;
  /** What whoever cancelled it wanted to keep of it. */
  readonly cancelKeep: "nothing" | "partial" | null;
  readonly usageRows: number;
}

export interface SessionRecord {
  readonly id: string;
  readonly agentId: string;
  readonly deleted: boolean;
  /** The operation that made it. */
  readonly op: string | null;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly turnId: string;
  readonly tool: string;
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
  /** How often the counting tool was called with each text. */
  readonly counted: ReadonlyMap<string, number>;
  /** Usage rows whose turn is gone, which there must not be. */
  readonly strayUsage: number;
  /** Transcripts of the sessions that are left, as a client reads them. */
  readonly transcripts: ReadonlyMap<string, readonly Message[]>;
  /** Turns counted by `GET /v1/usage`. */
  readonly requestCount: number;
}

/** A claim that was one too many, or credit that grew. */
interface Overrun {
  readonly tenantId: string;
  readonly what: string;
}

/**
 * Writes down, as it happens, what must not be at any moment: more running turns of a tenant
 * than it may have, and credit that grows. Claims of a tenant with a limit come one after
 * another, each before the next is counted, so a count within one is exact.
 */
export async function watchLimits(sql: Sql): Promise<void> {
  await sql`create table erased.overruns (tenant_id text, what text)`;
  await sql`
    create function erased.count_running() returns trigger language plpgsql as $$
    declare most integer; counted integer;
    begin
      select running_turns into most from public.tenants where id = new.tenant_id;
      if most is not null then
        select count(*) into counted from public.turns where tenant_id = new.tenant_id and status = 'running';
        if counted > most then
          insert into erased.overruns values (new.tenant_id, counted || ' turns run, and ' || most || ' may: ' || new.id);
        end if;
      end if;
      return null;
    end $$`;
  await sql`
    create trigger count_running after update of status on public.turns for each row
    when (new.status = 'running' and old.status <> 'running') execute function erased.count_running()`;
  await sql`
    create function erased.note_credit() returns trigger language plpgsql as $$
    begin
      insert into erased.overruns values (new.id, 'credit grows from ' || old.usage_credit || ' to ' || new.usage_credit);
      return null;
    end $$`;
  await sql`
    create trigger note_credit after update of usage_credit on public.tenants for each row
    when (new.usage_credit > old.usage_credit) execute function erased.note_credit()`;
}

/** Returns what `watchLimits` has written down. */
export function readOverruns(sql: Sql): Promise<Overrun[]> {
  return sql<Overrun[]>`select tenant_id, what from erased.overruns`;
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
export async function readRows(
  sql: Sql,
  tenantId: string,
): Promise<Omit<Remains, "transcripts" | "requestCount" | "counted">> {
  const turns = await sql<TurnRecord[]>`
    select id, metadata ->> 'op' as op, session_id, status, attempt, crashes, attempts_before, steps_done, trigger, error,
      continuation_id, assistant_message_id, accepted_at,
      claimed_at, finished_at, cancel_requested_at is not null as cancel_requested, cancel_keep,
      (select count(*)::int from usage u where u.turn_id = t.id) as usage_rows
    from (select * from turns union all select * from erased.turns) t
    where tenant_id = ${tenantId} order by coalesce(finished_at, accepted_at), id`;
  const sessions = await sql<SessionRecord[]>`
    select id, agent_id, deleted_at is not null as deleted, metadata ->> 'op' as op
    from (select * from sessions union all select * from erased.sessions) s where tenant_id = ${tenantId}`;
  const approvals = await sql<ApprovalRecord[]>`
    select id, turn_id, tool, status, input from (
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
    from turns where status in ('enqueued', 'queued', 'running', 'waiting')
    union all select 'line of ' || id from sessions where line > 0`;
  const jobs = await sql<{ said: string }[]>`
    select t.identifier || ' ' || j.id || ' attempts ' || j.attempts || ' locked by ' || coalesce(j.locked_by, 'nobody')
      || ' ' || coalesce(left(j.last_error, 200), '') as said
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id`;
  const [held] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_locks where locktype = 'advisory' and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())`;
  return { turns: turns.map(({ said }) => said), jobs: jobs.map(({ said }) => said), locks: held?.n ?? 0 };
}
