import type { AuditActor } from "../kernel/auth/actor.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { byTime, type ListPartQuery, readListPart } from "../kernel/http/list-part.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { type AgentConfig, agentDraftsKept, agentVersionsKept } from "./schema.ts";

/**
 * A request that read the agent just before it was deleted may still write a
 * session after the first purge. After this time all of them have ended.
 */
const latePurgeAfterMs = 30_000;

/** The numbers of drafts begin here, so that no version ever has the number of one. */
export const firstDraft = 1_000_000_001;

/** An agent as the database holds it, without its picture. */
export interface AgentRow {
  readonly id: IdOf<"agent">;
  readonly tenantId: string;
  readonly userId: string;
  readonly status: "active" | "disabled";
  readonly managed: boolean;
  readonly workspaceId: IdOf<"workspace"> | null;
  readonly version: number;
  readonly config: AgentConfig;
  /** Names the current picture; null when there is none. */
  readonly avatarId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

function columns(sql: AnySql) {
  return sql`id, tenant_id, user_id, status, managed, workspace_id, version,
    config, avatar_id, created_at, updated_at`;
}

/** Reads a tenant's agent. Throws 404. */
export async function getAgent(sql: AnySql, tenantId: string, id: string): Promise<AgentRow> {
  const [row] = await sql<AgentRow[]>`
    select ${columns(sql)} from agents where id = ${id} and tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

/** Reads a tenant's agent and keeps others from changing it until the transaction ends. Throws 404. */
export async function lockAgent(inner: Tx, tenantId: string, id: string): Promise<AgentRow> {
  const [row] = await inner<AgentRow[]>`
    select ${columns(inner)} from agents where id = ${id} and tenant_id = ${tenantId} for no key update`;
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

/** Which agents a list holds, and which part of them is asked for. */
interface AgentFilter extends ListPartQuery {
  readonly userId?: string;
  readonly workspaceId?: string;
}

/** Agents of a tenant, most recently updated first; `userId` and `workspaceId` narrow them. Throws 400 as `readListPart`. */
export function listAgents(sql: AnySql, tenantId: string, filter: AgentFilter, agentIds: AgentIds = null) {
  const { userId, workspaceId } = filter;
  return readListPart(["agents", tenantId, userId, workspaceId], filter, byTime, (place, rowsMax) => {
    return sql<(AgentRow & TimePlace)[]>`
      select ${columns(sql)}, ${placeInTime(sql, "updated_at")} from agents where tenant_id = ${tenantId}
        ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
        ${workspaceId === undefined ? sql`` : sql`and workspace_id = ${workspaceId}`}
        ${andOf(sql, sql`id`, agentIds)} ${olderThan(sql, place, "updated_at", "id")}
      order by updated_at desc, id desc limit ${rowsMax}`;
  });
}

/** The columns of a new agent's row. */
export type NewAgent = Pick<AgentRow, "id" | "tenantId" | "userId" | "managed" | "workspaceId" | "config">;

/** Who makes a version, and why. */
export interface VersionAuthor {
  /** Null: an operator's command. */
  readonly actor: AuditActor | null;
  readonly changeNote: string | null;
}

/** Writes a new agent, its first version and its attachments. */
export async function insertAgent(inner: Tx, agent: NewAgent, author: VersionAuthor): Promise<AgentRow> {
  const { id, tenantId, userId, managed, workspaceId, config } = agent;
  const [row] = await inner<AgentRow[]>`
    insert into agents (id, tenant_id, name, user_id, managed, workspace_id, config)
    values (${id}, ${tenantId}, ${config.name}, ${userId}, ${managed}, ${workspaceId}, ${json(inner, config)})
    returning ${columns(inner)}`;
  await insertVersion(inner, row as AgentRow, author);
  return row as AgentRow;
}

/** Writes an agent's next configuration as its next version, with its attachments. The caller holds the agent's lock. */
export async function saveNextVersion(
  inner: Tx,
  id: string,
  { config, workspaceId }: Pick<AgentRow, "config" | "workspaceId">,
  author: VersionAuthor,
): Promise<AgentRow> {
  const [row] = await inner<AgentRow[]>`
    update agents set name = ${config.name}, config = ${json(inner, config)}, workspace_id = ${workspaceId},
      version = version + 1, updated_at = clock_timestamp()
    where id = ${id} returning ${columns(inner)}`;
  const { version } = row as AgentRow;
  await insertVersion(inner, row as AgentRow, author);
  await dropVersions(inner, row as AgentRow, { from: 1, through: version - agentVersionsKept });
  return row as AgentRow;
}

/**
 * Writes a draft of an agent and returns its number: a version that the agent does not get, with which a session can be begun.
 * It attaches nothing. The caller holds the agent's lock.
 */
export async function saveDraft(
  inner: Tx,
  { id, tenantId }: Pick<AgentRow, "id" | "tenantId">,
  config: AgentConfig,
  { actor, changeNote }: VersionAuthor,
): Promise<number> {
  const [row] = await inner<{ version: number }[]>`
    insert into agent_versions (agent_id, version, tenant_id, config, created_at, change_note, actor_type, actor_id)
    select ${id}, greatest(max(version), ${firstDraft - 1}) + 1, ${tenantId}, ${json(inner, config)}, clock_timestamp(),
      ${changeNote}, ${actor?.type ?? null}, ${actor?.id ?? null}
    from agent_versions where agent_id = ${id} returning version`;
  const { version } = row as { version: number };
  await dropVersions(inner, { id, tenantId }, { from: firstDraft, through: version - agentDraftsKept });
  return version;
}

interface VersionRange {
  readonly from: number;
  readonly through: number;
}

/** Deletes versions of an agent, but those to which a session, a task or a turn that has not ended is pinned. */
async function dropVersions(
  inner: Tx,
  { id, tenantId }: Pick<AgentRow, "id" | "tenantId">,
  { from, through }: VersionRange,
): Promise<void> {
  if (through < from) return;
  await inner`
    delete from agent_versions v where agent_id = ${id} and version between ${from} and ${through}
      and not exists (select 1 from sessions s where s.agent_id = ${id} and s.pinned_version = v.version and s.deleted_at is null)
      and not exists (select 1 from tasks k where k.agent_id = ${id} and k.agent_version = v.version and k.deleted_at is null)
      and not exists (
        select 1 from turns t where t.tenant_id = ${tenantId} and t.status in ('queued', 'running', 'waiting')
          and t.agent_id = ${id} and t.agent_version = v.version)
      and not exists (
        select 1 from tasks k join task_runs r on r.task_id = k.id
        where k.agent_id = ${id} and r.status in ('queued', 'running') and r.agent_version = v.version)`;
}

async function insertVersion(
  inner: Tx,
  { id, tenantId, version, config, updatedAt }: AgentRow,
  { actor, changeNote }: VersionAuthor,
): Promise<void> {
  await inner`
    insert into agent_versions (agent_id, version, tenant_id, config, created_at, change_note, actor_type, actor_id)
    values (${id}, ${version}, ${tenantId}, ${json(inner, config)}, ${updatedAt}, ${changeNote}, ${actor?.type ?? null},
      ${actor?.id ?? null})`;
  // What stays attached keeps its settings.
  const ids = config.mcpConnectionIds as string[];
  await inner`delete from mcp_attachments where agent_id = ${id} and not (mcp_connection_id = any(${ids}))`;
  if (ids.length === 0) return;
  await inner`
    insert into mcp_attachments (agent_id, mcp_connection_id)
    select ${id}, named.id from unnest(${ids}::text[]) with ordinality as named (id, place) order by place
    on conflict do nothing`;
}

/** Disables or enables an agent; no new version. Throws 404, 409 `admin_agent_managed`. */
export function setAgentStatus(
  sql: AnySql,
  tenantId: string,
  id: string,
  status: AgentRow["status"],
): Promise<AgentRow> {
  return tx(sql, async (inner) => {
    const agent = await lockAgent(inner, tenantId, id);
    refuseManaged(agent);
    if (agent.status === status) return agent;
    const [row] = await inner<AgentRow[]>`
      update agents set status = ${status}, updated_at = clock_timestamp() where id = ${id} returning ${columns(inner)}`;
    return row as AgentRow;
  });
}

/** Sets (or with null removes) an agent's picture; no new version. Throws 404, 409 `admin_agent_managed`. */
export function setAvatar(
  sql: AnySql,
  tenantId: string,
  id: string,
  picture: { id: string; bytes: Uint8Array; mediaType: string } | null,
): Promise<AgentRow> {
  return tx(sql, async (inner) => {
    const agent = await lockAgent(inner, tenantId, id);
    refuseManaged(agent);
    if (picture === null && agent.avatarId === null) return agent;
    const [row] = await inner<AgentRow[]>`
      update agents set avatar = ${picture?.bytes ?? null}, avatar_media_type = ${picture?.mediaType ?? null},
        avatar_id = ${picture?.id ?? null}, updated_at = clock_timestamp()
      where id = ${id} returning ${columns(inner)}`;
    return row as AgentRow;
  });
}

/**
 * Deletes an agent for good and cancels its unfinished turns. Its sessions and what
 * else it leaves are unreachable at once and are removed by the job `agent.purge`,
 * because there may be millions of rows. Throws 404, 409 `admin_agent_managed`.
 */
export function deleteAgent(sql: AnySql, tenantId: string, id: string): Promise<void> {
  return tx(sql, async (inner) => {
    refuseManaged(await lockAgent(inner, tenantId, id));
    await removeAgent(inner, tenantId, id);
  });
}

/** Removes an agent, whatever manages it, with the jobs that erase what it leaves. */
export async function removeAgent(inner: Tx, tenantId: string, id: string): Promise<void> {
  await inner`delete from agents where id = ${id}`;
  await cancelTurns(inner, tenantId, id);
  await addJob(inner, "agent.purge", { agentId: id, tenantId });
  const runAt = new Date(Date.now() + latePurgeAfterMs);
  await addJob(inner, "agent.purge", { agentId: id, tenantId }, { runAt, keySuffix: ":late" });
}

/** Requests the cancellation of every unfinished turn of an agent, as the cancel operation does: a column, and a notification to the worker. */
export async function cancelTurns(sql: AnySql, tenantId: string, agentId: string): Promise<void> {
  await sql`
    with found as (
      -- In this order, as what drops the line of a session locks its turns: so neither waits for the other.
      select id from turns
      where tenant_id = ${tenantId} and status in ('enqueued', 'queued', 'running', 'waiting') and agent_id = ${agentId}
        and cancel_requested_at is null
      order by id for no key update
    ), asked as (
      update turns t set cancel_requested_at = now() from found where t.id = found.id returning t.id
    )
    select pg_notify('parley_cancel', id) from asked`;
}

/** Throws 409 `admin_agent_managed` for the platform's own agent. */
export function refuseManaged(agent: Pick<AgentRow, "managed">): void {
  if (agent.managed) throw new ApiError("admin_agent_managed");
}
