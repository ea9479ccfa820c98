import { createHash } from "node:crypto";
import type postgres from "postgres";
import { type AgentIds, andOf } from "../../kernel/auth/agent-scope.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { olderThan } from "../../kernel/database/keyset.ts";
import { type Page, readTimeCursor, timePage } from "../../kernel/http/page.ts";
import { type TurnKind, turnKinds } from "./turn.ts";
import {
  isVisible,
  type ShownStatus,
  shownStatuses,
  showTurn,
  type TurnView,
  type TurnViewRow,
  viewColumns,
} from "./turn-view.ts";

/** Which turns are meant: those that match every filter that is given. */
export interface TurnFilter {
  readonly status: ShownStatus | undefined;
  readonly kind: TurnKind | undefined;
  /** The code of the error that it failed with. */
  readonly error?: string | undefined;
  readonly agentId: string | undefined;
  /** Left out or null: those of all agents. */
  readonly agentIds?: AgentIds;
  readonly sessionId: string | undefined;
  /** The empty string: turns without a user. */
  readonly userId: string | undefined;
}

/** A page of turns that is asked for. */
export interface TurnListQuery extends TurnFilter {
  /** When they were accepted: from this moment on, and before that one. */
  readonly from: Date | undefined;
  readonly to: Date | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/**
 * Returns a page of a tenant's turns, newest first. Throws 400 `invalid_cursor`, also for the
 * cursor of other filters.
 *
 * Every filter has an index in which exactly the rows of the page stand together, whatever
 * share of all turns they are: a kind that is rare, or a state. That costs as many small
 * scans as there are kinds and states that match, of `limit` rows at most each.
 */
export async function listTurns(sql: AnySql, tenantId: string, query: TurnListQuery): Promise<Page<TurnView>> {
  const { from, to, cursor, limit } = query;
  const list = listName("turns", query);
  const place = readTimeCursor(list, cursor);
  const newest = sql`
    ${from === undefined ? sql`` : sql`and t.accepted_at >= ${from}`} ${to === undefined ? sql`` : sql`and t.accepted_at < ${to}`}
    ${olderThan(sql, place, "t.accepted_at", "t.id")} and ${isVisible(sql)}
    order by t.accepted_at desc, t.id desc limit ${limit + 1}`;
  const scans = scansOf(sql, tenantId, query, newest);
  const [first, second] = scans;
  const rows = await sql<TurnViewRow[]>`
    select /* turn.list */ * from (${first} ${second === undefined ? sql`` : sql`union all ${second}`}) t
    order by t.accepted_at desc, t.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showTurn);
}

/** Returns what a cursor says of which list it is. */
export function listName(list: string, query: TurnListQuery): string {
  const { status, kind, error, agentId, sessionId, userId, from, to } = query;
  const filters = [status, kind, agentId, sessionId, userId, from?.toISOString(), to?.toISOString(), error];
  // A digest, because a user's id may be longer than a cursor.
  const digest = createHash("sha256").update(JSON.stringify(filters.map((filter) => filter ?? null)));
  return `${list}:${digest.digest("base64url")}`;
}

/** The states in which a turn stays, as the indexes of the lists name them. */
const restingStatuses = ["waiting", "succeeded", "failed", "canceled"] as const;
/** Those in which it does not: a tenant has no more of them than its queue and the workers hold. */
const movingStatuses = { queued: ["enqueued", "queued"], running: ["running"] } as const;

/** Returns the stored states that a filter means, those that stay and those that move. */
export function statusesOf({ status, error }: TurnFilter) {
  const shown = status === undefined ? shownStatuses : [status];
  const meant = error === undefined ? shown : shown.filter((one) => one === "failed");
  return {
    resting: restingStatuses.filter((one) => meant.includes(one)),
    moving: meant.flatMap((one) => (one === "queued" || one === "running" ? movingStatuses[one] : [])),
  };
}

/** Returns the condition that a row of `turns t` is one of those that are meant, but for its session, its kind and its state. */
export function isMeant(sql: AnySql, tenantId: string, { error, agentId, agentIds, userId }: TurnFilter) {
  return sql`t.tenant_id = ${tenantId} ${agentId === undefined ? sql`` : sql`and t.agent_id = ${agentId}`} ${andOf(sql, sql`t.agent_id`, agentIds)}
    ${userId === undefined ? sql`` : sql`and t.user_id = ${userId}`} ${error === undefined ? sql`` : sql`and t.error ->> 'code' = ${error}`}`;
}

type Scans = readonly [postgres.Fragment, postgres.Fragment?];

/** Returns the statements, one or two, that each return at most a page of what matches. `newest` is what ends each scan. */
function scansOf(sql: AnySql, tenantId: string, filter: TurnFilter, newest: postgres.Fragment): Scans {
  const { status, kind, error, agentId, sessionId, userId } = filter;
  const columns = viewColumns(sql);
  const ofKind = kind === undefined ? sql`` : sql`and t.kind = ${kind}`;
  const mine = isMeant(sql, tenantId, filter);
  const { resting, moving } = statusesOf(filter);
  if (sessionId !== undefined) {
    const stored = [...moving, ...resting];
    return [
      sql`
      select ${columns} from turns t
      where ${mine} and t.session_id = ${sessionId} ${ofKind} and t.status = any(${stored}::text[]) ${newest}`,
    ];
  }
  if (error !== undefined)
    return [
      sql`
      select ${columns} from turns t
      where ${mine} ${ofKind} and t.status = 'failed' and t.status = any(${resting as readonly string[] as string[]}::text[]) ${newest}`,
    ];
  if ([status, kind, agentId, userId].every((one) => one === undefined))
    return [sql`select ${columns} from turns t where ${mine} ${newest}`];
  const kinds = kind === undefined ? turnKinds : [kind];
  // The states are named once more in each scan: a partial index is used only where the statement itself says what it holds.
  const ofResting = sql`
    select page.* from unnest(${kinds as string[]}::text[]) kinds (kind), unnest(${resting}::text[]) states (state)
    cross join lateral (
      select ${columns} from turns t
      where ${mine} and t.kind = kinds.kind and t.status = states.state
        and t.status in ('waiting', 'succeeded', 'failed', 'canceled') ${newest}
    ) page`;
  const ofMoving = sql`
    select page.* from unnest(${moving}::text[]) states (state)
    cross join lateral (
      select ${columns} from turns t
      where ${mine} ${ofKind} and t.status = states.state
        and t.status in ('enqueued', 'queued', 'running') ${newest}
    ) page`;
  if (moving.length === 0) return [ofResting];
  return resting.length === 0 ? [ofMoving] : [ofResting, ofMoving];
}
