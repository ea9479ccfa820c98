import type { Static } from "@sinclair/typebox";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { olderThan, placeInTime } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { readDateTime } from "../kernel/http/date-time.ts";
import { type Page, readLimit, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";
import { repairLockedDelivery } from "./delivery-states.ts";
import {
  attentionPage,
  type ChatAttentionQuery,
  type ChatDeliveryQuery,
  type ChatDeliveryRepair,
  type ChatDeliveryStatus,
  type ChatPlatformName,
  deliveryPage,
  type MessageReceipt,
} from "./schema.ts";
import { getChatConnection } from "./store.ts";

/** A delivery in the interface's form, which never holds its text. */
interface DeliveryRow {
  readonly id: IdOf<"chatDelivery">;
  readonly at: string;
  readonly kind: "reply" | "approval_card";
  readonly status: ChatDeliveryStatus;
  readonly attempt: number;
  readonly credentialVersion: number;
  readonly representation: "native" | "text";
  readonly diagnostic: string | null;
  readonly receipts: readonly MessageReceipt[];
  readonly sessionId: IdOf<"session"> | null;
  readonly messageId: string | null;
  readonly approvalId: IdOf<"approval"> | null;
  readonly threadId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

function columns(sql: AnySql) {
  return sql`d.id, ${placeInTime(sql, "d.created_at")}, d.kind, d.status, d.attempt,
    d.credential_version, d.representation, d.diagnostic, d.receipts, d.session_id,
    d.message_id, d.approval_id, th.key as thread_id, d.created_at,
    d.updated_at`;
}

function show<T extends DeliveryRow>({ at, createdAt, updatedAt, ...row }: T) {
  return { ...row, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

type Shown = ReturnType<typeof show<DeliveryRow>>;

/** `GET /v1/chat-connections/:id/deliveries`: returns a page of a connection's deliveries, newest first. Throws 400, 404. */
export async function listDeliveries(
  sql: AnySql,
  tenantId: string,
  connectionId: IdOf<"chatConnection">,
  query: Static<typeof ChatDeliveryQuery>,
): Promise<Page<Shown>> {
  const limit = readLimit(query.limit, deliveryPage);
  const list = `chat-deliveries:${connectionId}`;
  const after = readTimeCursor(list, query.cursor);
  await getChatConnection(sql, tenantId, connectionId);
  const rows = await sql<DeliveryRow[]>`
    select ${columns(sql)} from chat_deliveries d join chat_threads th on th.id = d.thread_id
    where d.connection_id = ${connectionId} ${olderThan(sql, after, "d.created_at", "d.id")}
    order by d.created_at desc, d.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}

interface AttentionRow extends DeliveryRow {
  readonly connectionId: IdOf<"chatConnection">;
  readonly agentId: IdOf<"agent">;
  readonly platform: ChatPlatformName;
}

/** `GET /v1/chat-deliveries`: returns a page of the tenant's failed and ambiguous deliveries, newest first. Throws 400. */
export async function listAttention(
  sql: AnySql,
  tenantId: string,
  query: Static<typeof ChatAttentionQuery>,
  agentIds: AgentIds,
): Promise<Page<ReturnType<typeof show<AttentionRow>>>> {
  const limit = readLimit(query.limit, attentionPage);
  const statuses = statusesOf(query.status);
  const since = sinceOf(query.since);
  const list = `chat-attention:${statuses.join(",")}:${since?.toISOString() ?? ""}`;
  const after = readTimeCursor(list, query.cursor);
  const rows = await sql<AttentionRow[]>`
    select ${columns(sql)}, c.id as connection_id, c.agent_id, c.platform
    from chat_deliveries d join chat_threads th on th.id = d.thread_id join chat_connections c on c.id = d.connection_id
    where d.tenant_id = ${tenantId} and c.deleted_at is null and d.status in ('failed', 'ambiguous') and d.status = any(${statuses})
      ${andOf(sql, sql`c.agent_id`, agentIds)}
      ${since === null ? sql`` : sql`and d.created_at >= ${since}`} ${olderThan(sql, after, "d.created_at", "d.id")}
    order by d.created_at desc, d.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}

const attentionStatuses = ["failed", "ambiguous"];

function statusesOf(status: string | undefined): string[] {
  if (status === undefined) return attentionStatuses;
  const named = new Set(status.split(","));
  for (const name of named)
    if (!attentionStatuses.includes(name)) throw invalid("status", "must name failed, ambiguous, or both with a comma");
  return attentionStatuses.filter((name) => named.has(name));
}

function sinceOf(since: string | undefined): Date | null {
  if (since === undefined) return null;
  const date = readDateTime(since);
  if (date === null) throw invalid("since", "is not a moment that exists");
  return date;
}

/**
 * `POST /v1/chat-connections/:id/deliveries/:deliveryId/repair`: posts a failed or
 * ambiguous delivery again, without a turn or a tool; a job sends what has no
 * receipt yet. Throws 404, and 400 when the connection is disabled, the attempt is
 * not the current one, or the delivery is neither failed nor ambiguous.
 */
export async function repairDelivery(
  sql: AnySql,
  tenantId: string,
  { connectionId, deliveryId }: { connectionId: IdOf<"chatConnection">; deliveryId: IdOf<"chatDelivery"> },
  body: Static<typeof ChatDeliveryRepair>,
) {
  const connection = await getChatConnection(sql, tenantId, connectionId);
  return tx(sql, async (inner) => {
    const [found] = await inner<{ status: ChatDeliveryStatus; attempt: number }[]>`
      select status, attempt from chat_deliveries where id = ${deliveryId} and connection_id = ${connectionId} for update`;
    if (found === undefined) throw new ApiError("not_found");
    if (!connection.enabled) throw new ApiError("invalid_request", { message: "The connection is disabled." });
    if (found.attempt !== body.expectedAttempt)
      throw invalid("/expectedAttempt", "is not the delivery's current attempt");
    if (found.status !== "failed" && found.status !== "ambiguous")
      throw new ApiError("invalid_request", { message: `A delivery that is ${found.status} cannot be repaired.` });
    return repairLockedDelivery(inner, deliveryId, connection.credentialVersion);
  });
}
