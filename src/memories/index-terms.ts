import { GiveWay } from "../kernel/async/give-way.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { termsOf } from "./terms.ts";

/**
 * Gives those memories of an agent their words that have none of their present text:
 * they were written by a process of before 0.3, which knows the column `words` only.
 * An agent has at most 500 memories, and each is done once.
 */
export async function indexTerms(sql: AnySql, agentId: string): Promise<void> {
  const rows = await sql<{ id: string; text: string; at: string }[]>`
    select id, text, updated_at::text as at from memories
    where agent_id = ${agentId} and terms_at is distinct from updated_at`;
  const way = new GiveWay();
  for (const { id, text, at } of rows) {
    await way.next();
    await sql`
      update memories set terms = array_to_tsvector(${termsOf(text)}::text[]), terms_at = updated_at
      where id = ${id} and updated_at = ${at}::text::timestamptz`;
  }
}
