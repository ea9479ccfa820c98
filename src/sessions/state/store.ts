import { type AgentIds, andOf } from "../../kernel/auth/agent-scope.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../../kernel/database/keyset.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError } from "../../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../../kernel/http/page.ts";
import { addJob } from "../../kernel/queue/add-job.ts";
import { deleteArtifacts } from "../../workspaces/artifacts.ts";
import { sessionBusy } from "./busy.ts";
import { firstPreviewOf, firstText } from "./first-message.ts";

/** A session as lists show it. */
export interface SessionSummary {
  readonly id: string;
  readonly agentVersion: number | null;
  readonly messageCount: number;
  /** Of the message that it began with, also where the first turn failed. */
  readonly firstMessagePreview: string;
  readonly lastMessagePreview: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A session of the latest list, with its agent's current values. */
export interface LatestSession extends SessionSummary {
  readonly agentId: string;
  readonly model: string | null;
  readonly thinkingLevel: string | null;
  readonly status: "active" | "disabled";
}

/** A row of `summaryColumns`. */
export interface SessionRow extends TimePlace {
  pinnedVersion: number | null;
  messageCount: number;
  firstMessagePreview: string | null;
  /** Where a session of before has no preview of it. */
  firstText: string | null;
  lastMessagePreview: string;
  userId: string;
  metadata: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
}

interface LatestRow extends SessionRow {
  agentId: string;
  model: string | null;
  thinkingLevel: string | null;
  status: "active" | "disabled";
}

/** What a turn needs to know of its session. */
export interface SessionFacts {
  readonly pinnedVersion: number | null;
  /** False until form A's first turn has succeeded. */
  readonly visible: boolean;
  readonly userId: string;
}

/** Returns a session by its agent and id, also one that is not visible yet; null when it is missing, another tenant's, or deleted. */
export async function findSession(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  sessionId: string,
): Promise<SessionFacts | null> {
  const [row] = await sql<{ pinnedVersion: number | null; visible: boolean; userId: string }[]>`
    select /* session.find */ s.pinned_version, s.visible, s.user_id from sessions s
    where s.id = ${sessionId} and s.tenant_id = ${tenantId} and s.agent_id = ${agentId} and s.deleted_at is null
      and exists (select 1 from agents a where a.id = s.agent_id)`;
  return row === undefined ? null : { pinnedVersion: row.pinnedVersion, visible: row.visible, userId: row.userId };
}

export interface SessionListFilter {
  readonly tenantId: string;
  /** Undefined: all; the empty string: sessions without an end user. */
  readonly userId: string | undefined;
  /** Only this one. */
  readonly sessionId?: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of the sessions of one agent, most recently updated first. An unknown agent, or another tenant's, has none. */
export async function listSessions(
  sql: AnySql,
  agentId: string,
  filter: SessionListFilter,
): Promise<Page<SessionSummary>> {
  const list = `sessions:${agentId}:${filter.userId ?? "*"}`;
  const place = readTimeCursor(list, filter.cursor);
  const rows = await sql<SessionRow[]>`
    select /* session.list */ ${summaryColumns(sql)} from sessions s
    where s.tenant_id = ${filter.tenantId} and s.agent_id = ${agentId} and s.visible and s.deleted_at is null
      and exists (select 1 from agents a where a.id = ${agentId})
      ${filter.userId === undefined ? sql`` : sql`and s.user_id = ${filter.userId}`}
      ${filter.sessionId === undefined ? sql`` : sql`and s.id = ${filter.sessionId}`} ${olderThan(sql, place, "s.updated_at", "s.id")}
    order by s.updated_at desc, s.id desc limit ${filter.limit + 1}`;
  return timePage(list, rows, filter.limit, showSummary);
}

/** Returns a page of the sessions of all agents that hold messages, most recently updated first; with `byAgent` each agent's latest only. */
export async function listLatest(
  sql: AnySql,
  byAgent: boolean,
  filter: SessionListFilter & { readonly agentIds?: AgentIds },
): Promise<Page<LatestSession>> {
  const list = `latest:${byAgent}:${filter.userId ?? "*"}`;
  const place = readTimeCursor(list, filter.cursor);
  const user = filter.userId === undefined ? sql`` : sql`and s.user_id = ${filter.userId}`;
  const shown = sql`s.visible and s.deleted_at is null and s.message_count > 0`;
  const ofAgents = andOf(sql, sql`a.id`, filter.agentIds);
  const agentColumns = sql`a.id as agent_id, a.config ->> 'model' as model, a.config ->> 'thinkingLevel' as thinking_level, a.status`;
  // `+ 0`: so Postgres does not use the tenant's index of latest sessions for one agent's. Of an agent without sessions it
  // would read all of the tenant's, which took 5 s where there were a million.
  const latestOfAgent = sql`
    select * from sessions s
    where s.tenant_id = a.tenant_id and s.agent_id = a.id and s.visible and s.deleted_at is null and s.message_count + 0 > 0 ${user}
    order by s.updated_at desc, s.id desc limit 1`;
  const rows = byAgent
    ? await sql<LatestRow[]>`
        select /* session.latest_by_agent */ ${summaryColumns(sql)}, ${agentColumns} from agents a
        cross join lateral (${latestOfAgent}) s
        where a.tenant_id = ${filter.tenantId} ${ofAgents} ${olderThan(sql, place, "s.updated_at", "s.id")}
        order by s.updated_at desc, s.id desc limit ${filter.limit + 1}`
    : await sql<LatestRow[]>`
        select /* session.latest */ ${summaryColumns(sql)}, ${agentColumns} from sessions s join agents a on a.id = s.agent_id
        where s.tenant_id = ${filter.tenantId} and ${shown} ${user} ${ofAgents} ${olderThan(sql, place, "s.updated_at", "s.id")}
        order by s.updated_at desc, s.id desc limit ${filter.limit + 1}`;
  return timePage(list, rows, filter.limit, (row) => ({
    ...showSummary(row),
    agentId: row.agentId,
    model: row.model,
    thinkingLevel: row.thinkingLevel,
    status: row.status,
  }));
}

/** Returns a session that exists as lists show it. */
export async function readSummary(sql: AnySql, sessionId: string): Promise<SessionSummary> {
  const [row] = await sql<
    SessionRow[]
  >`select /* session.show */ ${summaryColumns(sql)} from sessions s where s.id = ${sessionId}`;
  return showSummary(row as SessionRow);
}

/** Returns the columns of `sessions s` that `showSummary` needs. */
export function summaryColumns(sql: AnySql) {
  return sql`s.id, s.pinned_version, s.message_count, s.last_message_preview, s.user_id, s.metadata, s.created_at, s.updated_at,
    s.first_message_preview, case when s.first_message_preview is null then ${firstText(sql)} end as first_text,
    ${placeInTime(sql, "s.updated_at")}`;
}

/** Returns a session as lists show it. */
export function showSummary(row: SessionRow): SessionSummary {
  return {
    id: row.id,
    agentVersion: row.pinnedVersion,
    messageCount: row.messageCount,
    firstMessagePreview: row.firstMessagePreview ?? firstPreviewOf(row.firstText),
    lastMessagePreview: row.lastMessagePreview,
    userId: row.userId,
    metadata: row.metadata,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/**
 * Deletes a session: every later request for it is 404, and the job `session.purge`
 * erases its rows and logs; `withArtifacts` deletes what its tool calls left in
 * workspaces. Throws 404, and
 * 409 `session_busy` while a turn of it is queued, running or waits for a person.
 */
export function deleteSession(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  sessionId: string,
  withArtifacts: boolean,
): Promise<void> {
  return tx(sql, async (inner) => {
    // The lock on the row excludes a turn that is being accepted at the same time.
    const [session] = await inner<{ line: number }[]>`
      select /* session.lock */ s.line from sessions s where id = ${sessionId} and tenant_id = ${tenantId} and agent_id = ${agentId} and deleted_at is null
        and exists (select 1 from agents a where a.id = s.agent_id)
        and (visible or line > 0 or exists (select 1 from turns t where t.session_id = s.id and t.status in ('queued', 'running', 'waiting')))
      for update`;
    if (session === undefined) throw new ApiError("not_found");
    const [active] =
      await inner`select /* session.is_busy */ 1 from turns where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')`;
    if (active !== undefined || session.line > 0) throw await sessionBusy(inner, sessionId);
    await inner`update /* session.delete */ sessions set deleted_at = now() where id = ${sessionId}`;
    await addJob(inner, "session.purge", { sessionId, tenantId });
    if (withArtifacts) await deleteArtifacts(inner, sessionId);
  });
}
