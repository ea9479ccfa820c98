import type { Sql } from "../../src/kernel/database/client.ts";

/** A message as a test writes it into a transcript. */
interface WrittenMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly unknown[];
}

/** Appends messages to a session's transcript by rows, which is quicker than by turns and takes what no request may send. */
export async function appendMessages(sql: Sql, sessionId: string, messages: readonly WrittenMessage[]): Promise<void> {
  for (const message of messages) {
    await sql`
      insert into messages (session_id, seq, id, role, turn_id, content)
      select ${sessionId}, coalesce(max(seq), 0) + 1, ${message.id}, ${message.role}, max(turn_id), ${JSON.stringify(message)}::text::json
      from messages where session_id = ${sessionId}`;
  }
  await sql`
    update sessions set message_count = (select count(*) from messages where session_id = ${sessionId}) where id = ${sessionId}`;
}
