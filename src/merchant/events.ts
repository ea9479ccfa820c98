import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { olderThan, placeInTime } from "../kernel/database/keyset.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UsageReport } from "./provider.ts";
import { type BillingProviderName, type UsageEventStatus, usageEventName } from "./schema.ts";

/** A usage event as the ledger holds it. */
export interface UsageEventRow {
  readonly id: IdOf<"merchantEvent">;
  readonly turnId: IdOf<"turn">;
  readonly connectionId: IdOf<"merchantConnection">;
  readonly provider: BillingProviderName;
  readonly userId: string;
  readonly customerId: string | null;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: string;
  readonly model: string | null;
  readonly modelProvider: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly turnStatus: string;
  readonly startedAt: Date;
  readonly occurredAt: Date;
  readonly status: UsageEventStatus;
  readonly attemptCount: number;
  readonly attemptGeneration: number;
  readonly lastAttemptAt: Date | null;
  readonly lastErrorCode: string | null;
  readonly acceptedAt: Date | null;
  readonly workflowIssue: string | null;
  /** The event's connection is no longer the tenant's current one. */
  readonly connectionRetired: boolean;
  /** `occurred_at` in microseconds since 1970, for cursors. */
  readonly at: string;
}

/** What a person can do about an event; `none` when there is nothing to do. */
export type UsageEventNextAction = "wait" | "retry" | "bind_and_release" | "investigate" | "discard" | "none";

/** A usage event in the interface's form (`GET /v1/merchant-usage-events`). */
export interface UsageEvent {
  readonly id: string;
  readonly turnId: string;
  readonly connectionId: string;
  readonly provider: BillingProviderName;
  readonly userId: string;
  readonly customerId: string | null;
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string | null;
  readonly modelProvider: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly turnStatus: string;
  readonly startedAt: string;
  readonly occurredAt: string;
  readonly status: UsageEventStatus;
  readonly payload: { readonly events: readonly UsageReport[] } | null;
  readonly attemptCount: number;
  readonly attemptGeneration: number;
  readonly lastAttemptAt: string | null;
  readonly lastErrorCode: string | null;
  readonly acceptedAt: string | null;
  readonly workflowIssue: string | null;
  readonly nextAction: UsageEventNextAction;
}

/** Returns the columns of a `UsageEventRow`, for a query that names the table `e`. */
export function eventColumns(sql: AnySql) {
  return sql`e.id, e.turn_id, e.connection_id, e.provider, e.user_id, e.customer_id, e.agent_id, e.session_id, e.model,
    e.model_provider, e.input_tokens, e.output_tokens, e.turn_status, e.started_at, e.occurred_at, e.status,
    e.attempt_count, e.attempt_generation, e.last_attempt_at, e.last_error_code, e.accepted_at, e.workflow_issue,
    (select c.retired_at is not null from merchant_connections c where c.id = e.connection_id) as connection_retired,
    ${placeInTime(sql, "e.occurred_at")}`;
}

/** Which events a list is to hold. */
export interface EventFilter {
  /** Null: of all agents. */
  readonly agentIds: AgentIds;
  /** Undefined: all. */
  readonly status: UsageEventStatus | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of the tenant's events over all its connections, newest first. Throws 400 `invalid_cursor`. */
export async function listUsageEvents(
  sql: AnySql,
  tenantId: string,
  { status, agentIds, cursor, limit }: EventFilter,
): Promise<Page<UsageEvent>> {
  const list = `merchant-events:${status ?? ""}`;
  const place = readTimeCursor(list, cursor);
  const rows = await sql<UsageEventRow[]>`
    select ${eventColumns(sql)} from merchant_events e where e.tenant_id = ${tenantId}
      ${status === undefined ? sql`` : sql`and e.status = ${status}`}
      ${andOf(sql, sql`e.agent_id`, agentIds)} ${olderThan(sql, place, "e.occurred_at", "e.id")}
    order by e.occurred_at desc, e.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showUsageEvent);
}

/** Returns one of the tenant's events. Throws 404. */
export async function getUsageEvent(sql: AnySql, tenantId: string, id: IdOf<"merchantEvent">): Promise<UsageEvent> {
  const [row] = await sql<UsageEventRow[]>`
    select ${eventColumns(sql)} from merchant_events e where e.id = ${id} and e.tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  return showUsageEvent(row);
}

/** Returns a row in the interface's form. */
export function showUsageEvent(row: UsageEventRow): UsageEvent {
  const report = row.status === "incomplete" ? null : reportOf(row);
  return {
    id: row.id,
    turnId: row.turnId,
    connectionId: row.connectionId,
    provider: row.provider,
    userId: row.userId,
    customerId: row.customerId,
    agentId: row.agentId,
    sessionId: row.sessionId,
    model: row.model,
    modelProvider: row.modelProvider,
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    totalTokens: row.inputTokens + row.outputTokens,
    turnStatus: row.turnStatus,
    startedAt: row.startedAt.toISOString(),
    occurredAt: row.occurredAt.toISOString(),
    status: row.status,
    payload: report === null ? null : { events: [report] },
    attemptCount: row.attemptCount,
    attemptGeneration: row.attemptGeneration,
    lastAttemptAt: row.lastAttemptAt?.toISOString() ?? null,
    lastErrorCode: row.lastErrorCode,
    acceptedAt: row.acceptedAt?.toISOString() ?? null,
    workflowIssue: row.workflowIssue,
    nextAction: nextAction(row),
  };
}

type Reportable = Pick<
  UsageEventRow,
  | "id"
  | "turnId"
  | "customerId"
  | "agentId"
  | "sessionId"
  | "model"
  | "modelProvider"
  | "inputTokens"
  | "outputTokens"
  | "turnStatus"
  | "occurredAt"
>;

/** Returns an event's report to the provider; null without a customer. It depends on what was recorded only, so it is the same at every retry. */
export function reportOf(row: Reportable): UsageReport | null {
  if (row.customerId === null) return null;
  const metadata = {
    agent_id: row.agentId,
    parley_event_id: row.id,
    input_tokens: row.inputTokens,
    model: row.model ?? "",
    model_provider: row.modelProvider ?? "",
    output_tokens: row.outputTokens,
    session_id: row.sessionId,
    status: row.turnStatus,
    total_tokens: row.inputTokens + row.outputTokens,
    turn_id: row.turnId,
  };
  return {
    customer_id: row.customerId,
    external_id: row.id,
    name: usageEventName,
    timestamp: row.occurredAt.toISOString(),
    // Polar refuses empty texts, and a stateless generation has no session.
    metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== "")),
  };
}

function nextAction({
  status,
  workflowIssue,
  connectionRetired,
  customerId,
  userId,
}: UsageEventRow): UsageEventNextAction {
  switch (status) {
    case "pending":
      return workflowIssue === null ? "wait" : "retry";
    case "failed":
      return "retry";
    case "uncertain":
    case "incomplete":
      return "investigate";
    case "unmapped":
      // No user can be bound to a connection that is no longer current, and no binding names the empty user.
      return customerId === null && (connectionRetired || userId === "") ? "discard" : "bind_and_release";
    default:
      return "none";
  }
}
