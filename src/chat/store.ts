import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { newerThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { byTime, type ListPartQuery, readListPart } from "../kernel/http/list-part.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { fragment, type Sealer } from "../kernel/seal.ts";
import type { KnownBot } from "./platform.ts";
import {
  type ChatConfiguration,
  type ChatCredentials,
  type ChatHealth,
  type ChatPlatformName,
  chatConnectionsPerTenantMax,
} from "./schema.ts";

/** A connection as the database holds it; credentials sealed under its id. */
export interface ChatConnectionRow {
  readonly id: IdOf<"chatConnection">;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly name: string;
  readonly platform: ChatPlatformName;
  readonly enabled: boolean;
  readonly configuration: ChatConfiguration;
  readonly installation: string;
  readonly botId: string | null;
  readonly botUserId: string | null;
  readonly botName: string | null;
  readonly teamId: string | null;
  readonly appId: string | null;
  readonly sealedCredentials: Uint8Array;
  readonly credentialFragment: string;
  readonly credentialVersion: number;
  readonly health: ChatHealth;
  readonly webhookSeenAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

function columns(sql: AnySql) {
  return sql`c.id, c.tenant_id, c.agent_id, c.name, c.platform, c.enabled, c.configuration,
    c.installation, c.bot_id, c.bot_user_id, c.bot_name, c.team_id,
    c.app_id, c.sealed_credentials, c.credential_fragment,
    c.credential_version, c.health, c.webhook_seen_at,
    c.created_at, c.updated_at`;
}

/** The SQL of: the connection is not deleted, and its agent exists. What is deleted is hidden until its purge has erased it. */
function live(sql: AnySql) {
  return sql`c.deleted_at is null and exists (select 1 from agents a where a.id = c.agent_id)`;
}

/** Returns a tenant's connections, or those of some agents, oldest first. Throws 400 as `readListPart`. */
export function listChatConnections(sql: AnySql, tenantId: string, query: ListPartQuery, agentIds: AgentIds) {
  return readListPart(["chat-connections", tenantId], query, byTime, (place, rowsMax) => {
    return sql<(ChatConnectionRow & TimePlace)[]>`
      select ${columns(sql)}, ${placeInTime(sql, "c.created_at")} from chat_connections c
      where c.tenant_id = ${tenantId} and ${live(sql)} ${andOf(sql, sql`c.agent_id`, agentIds)} ${newerThan(sql, place, "c.created_at", "c.id")}
      order by c.created_at, c.id limit ${rowsMax}`;
  });
}

/** Returns a tenant's connection. Throws 404. */
export async function getChatConnection(
  sql: AnySql,
  tenantId: string,
  id: IdOf<"chatConnection">,
): Promise<ChatConnectionRow> {
  const row = await findChatConnection(sql, tenantId, id);
  if (row === null) throw new ApiError("not_found");
  return row;
}

/** Returns a tenant's connection by an id that was stored before; null when it is deleted since. */
export async function findChatConnection(sql: AnySql, tenantId: string, id: string): Promise<ChatConnectionRow | null> {
  const [row] = await sql<ChatConnectionRow[]>`
    select ${columns(sql)} from chat_connections c where c.id = ${id} and c.tenant_id = ${tenantId} and ${live(sql)}`;
  return row ?? null;
}

/** Returns the connection that a webhook's address names; null when there is none. */
export async function findWebhookConnection(
  sql: AnySql,
  platform: ChatPlatformName,
  id: IdOf<"chatConnection">,
): Promise<ChatConnectionRow | null> {
  const [row] = await sql<ChatConnectionRow[]>`
    select ${columns(sql)} from chat_connections c where c.id = ${id} and c.platform = ${platform} and ${live(sql)}`;
  return row ?? null;
}

/** Returns a connection that is deleted, or whose agent or tenant is; null for any other, or when there is no such connection. */
export async function findOrphanedChatConnection(
  sql: AnySql,
  id: string,
): Promise<(ChatConnectionRow & { deletedAt: Date | null }) | null> {
  const [row] = await sql<(ChatConnectionRow & { deletedAt: Date | null })[]>`
    select ${columns(sql)}, c.deleted_at from chat_connections c where c.id = ${id}
      and (not (${live(sql)}) or exists (select 1 from tenants t where t.id = c.tenant_id and t.deleted_at is not null))`;
  return row ?? null;
}

/** The fields of a new connection. */
export interface NewChatConnection
  extends Pick<
    ChatConnectionRow,
    "id" | "tenantId" | "agentId" | "name" | "platform" | "enabled" | "configuration" | "health"
  > {
  readonly credentials: ChatCredentials;
  readonly bot: KnownBot;
}

/** Throws 400 `invalid_request` when the tenant may have no further connection. */
export async function checkChatConnectionLimit(sql: AnySql, tenantId: string): Promise<void> {
  const [count] = await sql<{ connections: number }[]>`
    select count(*)::int as connections from chat_connections c where c.tenant_id = ${tenantId} and ${live(sql)}`;
  if ((count?.connections ?? 0) >= chatConnectionsPerTenantMax)
    throw new ApiError("invalid_request", {
      message: `A tenant has at most ${chatConnectionsPerTenantMax} chat connections; delete one first.`,
    });
}

/** Stores a connection. Throws 400 `invalid_request` at the limit, or when the bot has a connection already, in any tenant. */
export async function insertChatConnection(
  inner: Tx,
  sealer: Sealer,
  made: NewChatConnection,
): Promise<ChatConnectionRow> {
  const { bot, credentials } = made;
  const sealed = sealer.seal(JSON.stringify(credentials), made.id);
  // The tenant's row is the lock that makes the count hold.
  await inner`select 1 from tenants where id = ${made.tenantId} for no key update`;
  await checkChatConnectionLimit(inner, made.tenantId);
  const [row] = await inner<ChatConnectionRow[]>`
    insert into chat_connections as c (id, tenant_id, agent_id, name, platform, enabled, configuration, installation,
      bot_id, bot_user_id, bot_name, team_id, app_id, sealed_credentials, credential_fragment, health)
    values (${made.id}, ${made.tenantId}, ${made.agentId}, ${made.name}, ${made.platform}, ${made.enabled},
      ${json(inner, made.configuration)}, ${bot.installation}, ${bot.botId}, ${bot.botUserId}, ${bot.botName},
      ${bot.teamId}, ${bot.appId}, ${sealed}, ${fragment(credentials.botToken)}, ${json(inner, made.health)})
    on conflict (platform, installation) where deleted_at is null do nothing
    returning ${columns(inner)}`;
  if (row === undefined)
    throw new ApiError("invalid_request", { message: "This bot is connected already; a bot has one connection." });
  return row;
}

/** The fields of a connection that an operation may change; those left out stay. */
export interface ChatConnectionChange {
  readonly name?: string;
  readonly enabled?: boolean;
  readonly configuration?: ChatConfiguration;
  readonly health?: ChatHealth;
}

/** A connection as it was and as it is. */
export interface ChangedChatConnection {
  readonly before: ChatConnectionRow;
  readonly after: ChatConnectionRow;
}

/**
 * Changes a connection to what `changeOf` makes of its row as it is now: the row's lock
 * keeps one of two concurrent changes from undoing the other. Throws 404, and what
 * `changeOf` throws.
 */
export async function updateChatConnection(
  inner: Tx,
  { tenantId, id }: Pick<ChatConnectionRow, "tenantId" | "id">,
  changeOf: (now: ChatConnectionRow) => ChatConnectionChange,
): Promise<ChangedChatConnection> {
  const [now] = await inner<ChatConnectionRow[]>`
    select ${columns(inner)} from chat_connections c
    where c.id = ${id} and c.tenant_id = ${tenantId} and ${live(inner)} for no key update of c`;
  if (now === undefined) throw new ApiError("not_found");
  const { name = now.name, enabled = now.enabled, configuration, health } = changeOf(now);
  const [row] = await inner<ChatConnectionRow[]>`
    update chat_connections c set name = ${name}, enabled = ${enabled},
      configuration = ${json(inner, configuration ?? now.configuration)}, health = ${json(inner, health ?? now.health)},
      updated_at = now()
    where c.id = ${id} returning ${columns(inner)}`;
  return { before: now, after: row as ChatConnectionRow };
}

/** Records the platform's first verified request, which proves that the webhook is right. */
export async function recordWebhookSeen(sql: AnySql, row: ChatConnectionRow, health: ChatHealth): Promise<void> {
  await sql`
    update chat_connections set webhook_seen_at = now(), health = ${json(sql, health)}
    where id = ${row.id} and webhook_seen_at is null`;
}

/**
 * Deletes a connection whose webhook is taken back: it is gone at once, and the job `chat.purge`
 * erases its threads and deliveries; the sessions stay. Throws 404.
 */
export function removeChatConnection(sql: AnySql, tenantId: string, id: IdOf<"chatConnection">): Promise<void> {
  return tx(sql, async (inner) => {
    const { count } = await inner`
      update chat_connections set deleted_at = now(), enabled = false
      where id = ${id} and tenant_id = ${tenantId} and deleted_at is null`;
    if (count === 0) throw new ApiError("not_found");
    await addJob(inner, "chat.purge", { connectionId: id, tenantId });
  });
}

/** Returns a connection's unsealed secrets. */
export function openChatCredentials(
  sealer: Sealer,
  row: Pick<ChatConnectionRow, "id" | "sealedCredentials">,
): ChatCredentials {
  return JSON.parse(sealer.open(row.sealedCredentials, row.id)) as ChatCredentials;
}
