import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { UsageReport } from "./provider.ts";
import { type BillingProviderName, type UsageEventStatus, usageEventName } from "./schema.ts";

/** A usage event as the ledger holds it. */
export interface UsageEventRow {
  readonly id: string;
  readonly turn_id: string;
  readonly connection_id: string;
  readonly provider: BillingProviderName;
  readonly user_id: string;
  readonly customer_id: string | null;
  readonly agent_id: string;
  readonly session_id: string;
  readonly model: string | null;
  readonly model_provider: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly turn_status: string;
  readonly started_at: Date;
  readonly occurred_at: Date;
  readonly status: UsageEventStatus;
  readonly attempt_count: number;
  readonly attempt_generation: number;
  readonly last_attempt_at: Date | null;
  readonly last_error_code: string | null;
  readonly accepted_at: Date | null;
  readonly workflow_issue: string | null;
  /** The event's connection is no longer the tenant's current one. */
  readonly connection_retired: boolean;
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
    (extract(epoch from e.occurred_at) * 1000000)::bigint::text as at`;
}

/** Which events a list is to hold. */
export interface EventFilter {
  /** Undefined: all. */
  readonly status: UsageEventStatus | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of the tenant's events over all its connections, newest first. Throws 400 `invalid_cursor`. */
export async function listUsageEvents(
  sql: AnySql,
  tenantId: string,
  { status, cursor, limit }: EventFilter,
): Promise<Page<UsageEvent>> {
  const list = `merchant-events:${status ?? ""}`;
  const place = readTimeCursor(list, cursor);
  const before = place === null ? null : sql`'epoch'::timestamptz + ${place.at}::bigint * interval '1 microsecond'`;
  const rows = await sql<UsageEventRow[]>`
    select ${eventColumns(sql)} from merchant_events e where e.tenant_id = ${tenantId}
      ${status === undefined ? sql`` : sql`and e.status = ${status}`}
      ${place === null ? sql`` : sql`and (e.occurred_at, e.id) < (${before}, ${place.id})`}
    order by e.occurred_at desc, e.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showUsageEvent);
}

/** Returns one of the tenant's events. Throws 404. */
export async function getUsageEvent(sql: AnySql, tenantId: string, id: string): Promise<UsageEvent> {
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
    turnId: row.turn_id,
    connectionId: row.connection_id,
    provider: row.provider,
    userId: row.user_id,
    customerId: row.customer_id,
    agentId: row.agent_id,
    sessionId: row.session_id,
    model: row.model,
    modelProvider: row.model_provider,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    totalTokens: row.input_tokens + row.output_tokens,
    turnStatus: row.turn_status,
    startedAt: row.started_at.toISOString(),
    occurredAt: row.occurred_at.toISOString(),
    status: row.status,
    payload: report === null ? null : { events: [report] },
    attemptCount: row.attempt_count,
    attemptGeneration: row.attempt_generation,
    lastAttemptAt: row.last_attempt_at?.toISOString() ?? null,
    lastErrorCode: row.last_error_code,
    acceptedAt: row.accepted_at?.toISOString() ?? null,
    workflowIssue: row.workflow_issue,
    nextAction: nextAction(row),
  };
}

type Reportable = Pick<
  UsageEventRow,
  | "id"
  | "turn_id"
  | "customer_id"
  | "agent_id"
  | "session_id"
  | "model"
  | "model_provider"
  | "input_tokens"
  | "output_tokens"
  | "turn_status"
  | "occurred_at"
>;

/** Returns an event's report to the provider; null without a customer. It depends on what was recorded only, so it is the same at every retry. */
export function reportOf(row: Reportable): UsageReport | null {
  if (row.customer_id === null) return null;
  const metadata = {
    agent_id: row.agent_id,
    parley_event_id: row.id,
    input_tokens: row.input_tokens,
    model: row.model ?? "",
    model_provider: row.model_provider ?? "",
    output_tokens: row.output_tokens,
    session_id: row.session_id,
    status: row.turn_status,
    total_tokens: row.input_tokens + row.output_tokens,
    turn_id: row.turn_id,
  };
  return {
    customer_id: row.customer_id,
    external_id: row.id,
    name: usageEventName,
    timestamp: row.occurred_at.toISOString(),
    // Polar refuses empty texts, and a stateless generation has no session.
    metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== "")),
  };
}

function nextAction({
  status,
  workflow_issue,
  connection_retired,
  customer_id,
  user_id,
}: UsageEventRow): UsageEventNextAction {
  switch (status) {
    case "pending":
      return workflow_issue === null ? "wait" : "retry";
    case "failed":
      return "retry";
    case "uncertain":
    case "incomplete":
      return "investigate";
    case "unmapped":
      // No user can be bound to a connection that is no longer current, and no binding names the empty user.
      return customer_id === null && (connection_retired || user_id === "") ? "discard" : "bind_and_release";
    default:
      return "none";
  }
}
