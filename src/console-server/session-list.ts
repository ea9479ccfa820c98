import type postgres from "postgres";
import type { ListedSession } from "../console-shapes/sessions.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { olderThan } from "../kernel/database/keyset.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";
import { type SessionRow, showSummary, summaryColumns } from "../sessions/state/store.ts";
import { listTurns } from "../sessions/state/turn-list.ts";
import type { ShownStatus } from "../sessions/state/turn-view.ts";
import { readSessionMarks } from "./session-marks.ts";

/** Which sessions are meant. */
export interface SessionListQuestion {
  readonly agentIds: AgentIds;
  readonly agentId: string | undefined;
  readonly userId: string | undefined;
  /** What became of the last turn. */
  readonly status: ShownStatus | undefined;
  /** When it was used last; with `status`, when the last turn was accepted. */
  readonly from: Date | undefined;
  readonly to: Date | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface ListedRow extends SessionRow {
  agentId: string;
}

/**
 * Returns a page of a tenant's sessions, also of those in which nothing was answered yet, the one used last first; by
 * what became of their last turn, the one with the newest such turn first. Throws 400 `invalid_cursor`.
 */
export async function listSessionsWithMarks(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  question: SessionListQuestion,
): Promise<Page<ListedSession>> {
  const read = question.status === undefined ? readLatest : readByLastTurn;
  const { data, nextCursor } = await read(sql, tenantId, question);
  return { data: await withMarks(sql, tenantId, data, question.agentIds), nextCursor };
}

/** Returns those of these sessions that a tenant has, the one used last first, at most `limit`. */
export async function readListedSessions(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  {
    sessionIds,
    agentIds,
    limit,
  }: { readonly sessionIds: readonly string[]; readonly agentIds: AgentIds; readonly limit: number },
): Promise<ListedSession[]> {
  const rows = await sql<ListedRow[]>`
    select ${listedColumns(sql)} from sessions s
    where s.id = any(${sessionIds as string[]}::text[]) and s.tenant_id = ${tenantId} and s.visible and s.deleted_at is null
      ${andOf(sql, sql`s.agent_id`, agentIds)} and exists (select 1 from agents a where a.id = s.agent_id)
    order by s.updated_at desc, s.id desc limit ${limit}`;
  return withMarks(sql, tenantId, rows.map(showListed), agentIds);
}

async function withMarks(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  sessions: readonly Listed[],
  agentIds: AgentIds,
): Promise<ListedSession[]> {
  const marks = await readSessionMarks(sql, tenantId, { sessionIds: sessions.map(({ id }) => id), agentIds });
  const markOf = new Map(marks.map(({ sessionId, ...mark }) => [sessionId, mark]));
  return sessions.map((session) => ({ ...session, mark: markOf.get(session.id) ?? null }));
}

type Listed = Omit<ListedSession, "mark">;

/**
 * The sessions that were used last. The interface's list of them skips those without a message, and so does its index:
 * here a page of each agent's is read from that agent's index, of which a tenant has at most a hundred.
 */
async function readLatest(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  { agentIds, agentId, userId, from, to, cursor, limit }: SessionListQuestion,
): Promise<Page<Listed>> {
  const list = `console-sessions:${agentId ?? "*"}:${userId ?? "*"}`;
  const place = readTimeCursor(list, cursor);
  const ofAgents = sql`${agentId === undefined ? sql`` : sql`and a.id = ${agentId}`} ${andOf(sql, sql`a.id`, agentIds)}`;
  const rows = await sql<ListedRow[]>`
    with page as materialized (
      select s.id from agents a cross join lateral (
        select s.id, s.updated_at from sessions s
        where s.tenant_id = ${tenantId} and s.agent_id = a.id and s.visible and s.deleted_at is null
          ${userId === undefined ? sql`` : sql`and s.user_id = ${userId}`}
          ${from === undefined ? sql`` : sql`and s.updated_at >= ${from}`} ${to === undefined ? sql`` : sql`and s.updated_at < ${to}`}
          ${olderThan(sql, place, "s.updated_at", "s.id")}
        order by s.updated_at desc, s.id desc limit ${limit + 1}
      ) s
      where a.tenant_id = ${tenantId} ${ofAgents}
      order by s.updated_at desc, s.id desc limit ${limit + 1}
    )
    select ${listedColumns(sql)} from page join sessions s on s.id = page.id order by s.updated_at desc, s.id desc`;
  return timePage(list, rows, limit, showListed);
}

/**
 * The sessions whose last turn is in a state: those of a page of such turns. Turns that another one of their session
 * followed are passed over, so a page may be short, or empty, and have a next one.
 */
async function readByLastTurn(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  question: SessionListQuestion,
): Promise<Page<Listed>> {
  const turns = await listTurns(sql, tenantId, {
    ...question,
    kind: undefined,
    sessionId: undefined,
  });
  const turnIds = turns.data.flatMap(({ id, sessionId }) => (sessionId === null ? [] : [id]));
  const rows = await sql<ListedRow[]>`
    select ${listedColumns(sql)} from unnest(${turnIds as string[]}::text[]) with ordinality as asked (turn_id, place)
    join turns t on t.id = asked.turn_id join sessions s on s.id = t.session_id
    where s.visible and s.deleted_at is null and not exists (
      select 1 from turns n where n.session_id = t.session_id and (n.accepted_at, n.id) > (t.accepted_at, t.id))
    order by asked.place`;
  return { data: rows.map(showListed), nextCursor: turns.nextCursor };
}

function listedColumns(sql: AnySql): postgres.Fragment {
  return sql`${summaryColumns(sql)}, s.agent_id`;
}

function showListed(row: ListedRow): Listed {
  return { ...showSummary(row), agentId: row.agentId };
}
