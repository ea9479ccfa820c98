import type { AnySql, Tx } from "../database/client.ts";
import { byIndex, eraseRowsMax, Pace } from "../database/pace.ts";

/** A stored response names at most this many resources. */
const namesMax = 64;
/** Deeper than this no response has an id. */
const depthMax = 4;
const idShape = /^[a-z]+_[0-9a-z]{24}$/;
/** The fields that say whose words a response holds; a caller's own fields (`metadata`) say nothing. */
const idFields: ReadonlySet<string> = new Set(["id", "agentId", "sessionId", "taskId", "runId", "skillId"]);

/**
 * Returns the resources that a stored response belongs to: those in the request's path, and
 * those that its body names. When one of them is deleted, the response is erased.
 */
export function resourcesOf(path: string, body: string | null): string[] {
  const found = new Set(path.split("/").filter((part) => idShape.test(part)));
  if (body !== null) collect(JSON.parse(body), found, depthMax);
  return [...found].slice(0, namesMax).map(workspaceName);
}

function collect(value: unknown, found: Set<string>, depth: number): void {
  if (typeof value !== "object" || value === null || depth === 0) return;
  for (const [field, part] of Object.entries(value)) {
    if (field === "metadata") continue;
    if (typeof part !== "string") collect(part, found, depth - 1);
    else if (idFields.has(field) && idShape.test(part)) found.add(part);
  }
}

/** Form A's sandbox is a workspace under another name. */
function workspaceName(id: string): string {
  return id.replace(/^sb_/, "ws_");
}

/**
 * Erases the stored responses that belong to deleted resources. The keys stay: a repeat is
 * 422, so that it does not make a second one.
 */
export async function eraseResponses(sql: AnySql, ids: readonly string[], pace: Pace = new Pace()): Promise<void> {
  for (;;) {
    pace.step();
    if ((await eraseBatch(sql, ids)) < eraseRowsMax) return;
  }
}

/**
 * Does the same in the transaction that deletes one resource, so that not even the next repeat is answered with it. Of one with
 * more than a thousand such responses, what deletes the rest of it erases these too.
 */
export async function eraseResponsesOf(inner: Tx, id: string): Promise<void> {
  await eraseBatch(inner, [workspaceName(id)]);
}

async function eraseBatch(sql: AnySql, ids: readonly string[]): Promise<number> {
  const { count } = await byIndex(
    sql,
    (inner) => inner`
      update idempotency_keys set headers = null, sealed_body = null, resource_ids = null where (tenant_id, key) in (
        select tenant_id, key from idempotency_keys where resource_ids && ${ids as string[]}::text[] limit ${eraseRowsMax})`,
  );
  return count;
}

/** Deletes the Idempotency-Keys of the turns of a session that was never seen: a repeat runs anew. */
export async function freeKeysOf(sql: AnySql, sessionId: string): Promise<void> {
  await byIndex(
    sql,
    (inner) => inner`
      delete from idempotency_keys where resource_ids && array[${sessionId}]::text[] and turn_id is not null`,
  );
}

/** Deletes the Idempotency-Keys of a tenant that has ended, in batches. */
export async function eraseTenantKeys(sql: AnySql, tenantId: string, pace: Pace): Promise<void> {
  for (;;) {
    pace.step();
    const { count } = await sql`
      delete /* idempotency.erase */ from idempotency_keys where (tenant_id, key) in (
        select tenant_id, key from idempotency_keys where tenant_id = ${tenantId} limit ${eraseRowsMax})`;
    if (count < eraseRowsMax) return;
  }
}
