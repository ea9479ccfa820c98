import { createHash } from "node:crypto";
import { lockAgent } from "../agents/store.ts";
import { limitedTenant, requireRoomWritten } from "../kernel/admission/stored-bytes.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime } from "../kernel/database/keyset.ts";
import { inOneTrip, tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { isBlank } from "../messages/blank.ts";
import { indexTerms } from "./index-terms.ts";
import { type Memory, memoriesPerAgentMax, memoryTextBytesMax } from "./schema.ts";
import { searchQuery, termsOf } from "./terms.ts";
import { wordsOf } from "./words.ts";

interface MemoryRow {
  id: IdOf<"memory">;
  tenantId: string;
  agentId: IdOf<"agent">;
  userId: string;
  text: string;
  lastAccessedAt: Date;
  createdAt: Date;
  updatedAt: Date;
  /** Microseconds since 1970 of `created_at`, for cursors. */
  at: string;
}

/** Whose memories an operation reaches: an agent's, or within them only those of some `userId`s. */
export interface MemoryScope {
  readonly tenantId: string;
  readonly agentId: string;
  /** Left out: all. */
  readonly userIds?: readonly string[];
}

/** Throws 400 when a text is empty or has more than 10 KiB as UTF-8. */
export function checkMemoryText(text: string): void {
  if (text === "" || Buffer.byteLength(text) > memoryTextBytesMax)
    throw invalid("/text", `must be a text of 1 to ${memoryTextBytesMax} bytes`);
  if (isBlank(text)) throw invalid("/text", "must have a text that is not blank");
}

/**
 * Stores a memory. At the cap of 500 the agent's least recently accessed memory is
 * deleted in the same transaction; the agent's row is the lock that makes the count
 * hold. Throws 400 for the text, 404 for the agent.
 */
export function createMemory(
  sql: AnySql,
  { tenantId, agentId }: MemoryScope,
  text: string,
  userId: string,
): Promise<Memory> {
  checkMemoryText(text);
  return tx(sql, async (inner) => {
    const [, limited, , [row]] = await inOneTrip([
      lockAgent(inner, tenantId, agentId),
      limitedTenant(inner, { tenantId }),
      makeRoom(inner, agentId),
      // The clock, not the transaction's start: those that waited for the lock come later.
      inner<MemoryRow[]>`
      insert into memories
        (id, tenant_id, agent_id, user_id, text, words, terms, last_accessed_at, created_at, updated_at, terms_at)
      select ${newId("memory")}, ${tenantId}, ${agentId}, ${userId}, ${text}, to_tsvector('simple', ${wordsOf(text)}),
        array_to_tsvector(${termsOf(text)}::text[]), moment, moment, moment, moment
      from clock_timestamp() as moment
      returning ${columns(inner)}`,
    ]);
    await requireRoomWritten(inner, limited, Buffer.byteLength(text));
    return showMemory(row as MemoryRow);
  });
}

/** Deletes as many memories as it takes for one more to fit. */
async function makeRoom(inner: Tx, agentId: string): Promise<void> {
  // A `limit` may not be negative: while there is room, it is 0.
  const gone = await inner<{ id: string }[]>`
    delete from memories where id in (
      select id from memories where agent_id = ${agentId} order by last_accessed_at, id
      limit greatest(0, (select count(*) from memories where agent_id = ${agentId}) - ${memoriesPerAgentMax - 1}))
    returning id`;
  if (gone.length > 0)
    await eraseResponses(
      inner,
      gone.map(({ id }) => id),
    );
}

export interface MemoryFilter {
  /** Undefined: all; the empty string: the tenant-level ones. */
  readonly userId: string | undefined;
  /** All its words must begin one of the memory, in any order, case and spelling. A text without words finds nothing. */
  readonly search: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of an agent's memories, newest first, without touching them. An unknown or foreign agent has none. Throws 400 `invalid_cursor`. */
export async function listMemories(
  sql: AnySql,
  { tenantId, agentId }: MemoryScope,
  { userId, search, cursor, limit }: MemoryFilter,
): Promise<Page<Memory>> {
  const filters = createHash("sha256")
    .update(JSON.stringify([userId, search]))
    .digest("base64url");
  const list = `memories:${agentId}:${filters}`;
  const place = readTimeCursor(list, cursor);
  const query = search === undefined ? undefined : searchQuery(search);
  if (query === null) return { data: [], nextCursor: null };
  if (query !== undefined) await indexTerms(sql, agentId);
  const rows = await sql<MemoryRow[]>`
    select ${columns(sql)} from memories where tenant_id = ${tenantId} and agent_id = ${agentId}
      ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
      ${query === undefined ? sql`` : sql`and terms @@ ${query}::tsquery`}
      ${olderThan(sql, place, "created_at", "id")}
    order by created_at desc, id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showMemory);
}

/** Reads a memory without touching it. Throws 404. */
export async function getMemory(sql: AnySql, scope: MemoryScope, id: string): Promise<Memory> {
  const [row] = await sql<MemoryRow[]>`select ${columns(sql)} from memories where ${reached(sql, scope, id)}`;
  return found(row);
}

/** Replaces a memory's text, which counts as an access. Throws 400 for the text, 404. */
export async function updateMemory(sql: AnySql, scope: MemoryScope, id: string, text: string): Promise<Memory> {
  checkMemoryText(text);
  const [row] = await sql<MemoryRow[]>`
    update memories set text = ${text}, words = to_tsvector('simple', ${wordsOf(text)}),
      terms = array_to_tsvector(${termsOf(text)}::text[]),
      last_accessed_at = moment, updated_at = moment, terms_at = moment
    from clock_timestamp() as moment
    where ${reached(sql, scope, id)} returning ${columns(sql)}`;
  return found(row);
}

/** Deletes a memory for good. Throws 404. */
export function deleteMemory(sql: AnySql, scope: MemoryScope, id: string): Promise<void> {
  return tx(sql, async (inner) => {
    const [{ count }] = await inOneTrip([
      inner`delete from memories where ${reached(inner, scope, id)}`,
      eraseResponses(inner, [id]),
    ]);
    if (count === 0) throw new ApiError("not_found");
  });
}

/**
 * Returns the newest memories in which each word of a search begins one, at most `limit` of
 * them. Being found counts as an access.
 */
export async function recallMemories(
  sql: AnySql,
  { tenantId, agentId, userIds = [] }: MemoryScope,
  search: string,
  limit: number,
): Promise<Memory[]> {
  const query = searchQuery(search);
  if (query === null) return [];
  await indexTerms(sql, agentId);
  // Rows are locked by id, so that two searches that find the same memories wait for each other in one order.
  const rows = await sql<MemoryRow[]>`
    with hits as (
      select id from memories
      where tenant_id = ${tenantId} and agent_id = ${agentId} and user_id = any(${userIds as string[]})
        and terms @@ ${query}::tsquery
      order by created_at desc, id desc limit ${limit}
    ), locked as (
      select id from memories where id in (select id from hits) order by id for no key update
    ), touched as (
      update memories set last_accessed_at = clock_timestamp() where id in (select id from locked)
      returning ${columns(sql)}
    )
    select * from touched order by created_at desc, id desc`;
  return rows.map(showMemory);
}

function reached(sql: AnySql, { tenantId, agentId, userIds }: MemoryScope, id: string) {
  return sql`id = ${id} and agent_id = ${agentId} and tenant_id = ${tenantId}
    ${userIds === undefined ? sql`` : sql`and user_id = any(${userIds as string[]})`}`;
}

function columns(sql: AnySql) {
  return sql`id, tenant_id, agent_id, user_id, text, last_accessed_at, created_at, updated_at,
    ${placeInTime(sql, "created_at")}`;
}

function found(row: MemoryRow | undefined): Memory {
  if (row === undefined) throw new ApiError("not_found");
  return showMemory(row);
}

function showMemory(row: MemoryRow): Memory {
  return {
    id: row.id,
    tenantId: row.tenantId,
    agentId: row.agentId,
    userId: row.userId,
    text: row.text,
    lastAccessedAt: row.lastAccessedAt.toISOString(),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
