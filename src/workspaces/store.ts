import type { Static } from "@sinclair/typebox";
import { type AgentIds, andSharedWith } from "../kernel/auth/agent-scope.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { workspacesPerTenantMax } from "./limits.ts";
import type { Workspace, WorkspaceCreate, WorkspaceUpdate } from "./schema.ts";

/** Characters of the id that go into the name a workspace gets when none is given. */
const nameFragmentLength = 8;

interface WorkspaceRow {
  id: IdOf<"workspace">;
  tenantId: string;
  name: string;
  userId: string;
  metadata: Record<string, unknown>;
  status: Workspace["status"];
  createdAt: Date;
  updatedAt: Date;
}

/**
 * Creates a workspace and returns it. Without a name it gets one that begins with `namePrefix`.
 * Throws 400 `invalid_request` when the tenant may have no further one.
 */
export function createWorkspace(
  sql: AnySql,
  tenantId: string,
  { name, userId = "", metadata = {} }: Static<typeof WorkspaceCreate>,
  namePrefix: "workspace" | "sandbox",
  id: string = newId("workspace"),
): Promise<Workspace> {
  const named = name ?? `${namePrefix}--${id.slice(-nameFragmentLength)}`;
  return tx(sql, async (inner) => {
    await checkWorkspaceLimit(inner, tenantId);
    const [row] = await inner<WorkspaceRow[]>`
      insert into workspaces (id, tenant_id, name, user_id, metadata)
      values (${id}, ${tenantId}, ${named}, ${userId}, ${json(inner, metadata)}) returning *`;
    return showWorkspace(row as WorkspaceRow);
  });
}

/** The lock on the tenant's row makes creations wait for each other, so that the limit holds. Those that are being deleted do not count. */
async function checkWorkspaceLimit(inner: Tx, tenantId: string): Promise<void> {
  await inner`select 1 from tenants where id = ${tenantId} for no key update`;
  const [count] = await inner<{ workspaces: number }[]>`
    select count(*)::int as workspaces from workspaces where tenant_id = ${tenantId} and status = 'ready'`;
  if ((count?.workspaces ?? 0) < workspacesPerTenantMax) return;
  throw new ApiError("invalid_request", {
    message: `A tenant has at most ${workspacesPerTenantMax} workspaces; delete one first.`,
  });
}

export interface WorkspaceListFilter {
  readonly tenantId: string;
  /** Undefined: all; the empty string: the tenant's own. */
  readonly userId: string | undefined;
  /** Null: all; else those that do not serve other agents alone. */
  readonly agentIds: AgentIds;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of a tenant's workspaces, newest first, including those that are being deleted. */
export async function listWorkspaces(sql: AnySql, filter: WorkspaceListFilter): Promise<Page<Workspace>> {
  const { tenantId, userId, agentIds, cursor, limit } = filter;
  const list = `workspaces:${userId ?? "*"}`;
  const place = readTimeCursor(list, cursor);
  const rows = await sql<(WorkspaceRow & TimePlace)[]>`
    select *, ${placeInTime(sql, "created_at")} from workspaces
    where tenant_id = ${tenantId} ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
      ${andSharedWith(sql, sql`workspaces.id`, agentIds)} ${olderThan(sql, place, "created_at", "id")}
    order by created_at desc, id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showWorkspace);
}

/** Returns a workspace. Throws 404 `workspace_not_found`. */
export async function getWorkspace(sql: AnySql, tenantId: string, id: string): Promise<Workspace> {
  const [row] = await sql<WorkspaceRow[]>`select * from workspaces where id = ${id} and tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("workspace_not_found");
  return showWorkspace(row);
}

/**
 * Changes the fields given and returns the workspace; `metadata` is replaced as a whole.
 * Throws 404, 409 `workspace_delete_conflict`.
 */
export function updateWorkspace(
  sql: AnySql,
  tenantId: string,
  id: string,
  { name, metadata }: Static<typeof WorkspaceUpdate>,
): Promise<Workspace> {
  return withWorkspace(sql, tenantId, id, async (inner) => {
    const [row] = await inner<WorkspaceRow[]>`
      update workspaces set
        name = ${name ?? inner`name`},
        metadata = ${metadata === undefined ? inner`metadata` : json(inner, metadata)},
        updated_at = clock_timestamp()
      where id = ${id} returning *`;
    return showWorkspace(row as WorkspaceRow);
  });
}

/**
 * Runs `work` in a transaction that holds the workspace's lock, so that its
 * writers run one after the other and its limits hold. Throws 404
 * `workspace_not_found`, 409 `workspace_delete_conflict`.
 */
export function withWorkspace<T>(
  sql: AnySql,
  tenantId: string,
  id: string,
  work: (inner: Tx) => Promise<T>,
): Promise<T> {
  return tx(sql, async (inner) => {
    await lockWorkspace(inner, tenantId, id);
    return work(inner);
  });
}

/** Takes the lock of `withWorkspace`, until the transaction ends. Throws as that does. */
export async function lockWorkspace(inner: Tx, tenantId: string, id: string): Promise<void> {
  const [row] = await inner<{ status: Workspace["status"] }[]>`
    select status from workspaces where id = ${id} and tenant_id = ${tenantId} for no key update`;
  checkReady(row);
}

/** Checks that a workspace can be used. Throws 404 `workspace_not_found`, 409 `workspace_delete_conflict`. */
export async function requireWorkspace(sql: AnySql, tenantId: string, id: string): Promise<void> {
  const [row] = await sql<{ status: Workspace["status"] }[]>`
    select status from workspaces where id = ${id} and tenant_id = ${tenantId}`;
  checkReady(row);
}

export type WorkspaceStatus = Workspace["status"];

/** Checks what was read of a workspace. Throws 404 `workspace_not_found`, 409 `workspace_delete_conflict`. */
export function checkReady<T extends { readonly status: WorkspaceStatus }>(row: T | undefined): asserts row is T {
  if (row === undefined) throw new ApiError("workspace_not_found");
  if (row.status === "deleting") throw new ApiError("workspace_delete_conflict");
}

function showWorkspace(row: WorkspaceRow): Workspace {
  return {
    id: row.id,
    tenantId: row.tenantId,
    name: row.name,
    userId: row.userId,
    metadata: row.metadata,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
