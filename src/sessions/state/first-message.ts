import type { AnySql } from "../../kernel/database/client.ts";
import { previewOf } from "../../messages/text.ts";

/** What is read of a long message, in characters: a preview is far shorter. */
const readCharacters = 20_000;

/**
 * Returns the SQL of the text of the message that a session `s` began with: of its transcript the user's first, or of
 * its first turn, which may have failed, so that the transcript does not have it. A transcript that begins with what
 * was copied began there.
 */
export function firstText(sql: AnySql) {
  return sql`(
      select left(string_agg(part ->> 'text', ' ' order by place), ${readCharacters}) from (
        select case when said.content is null or said.is_own then coalesce(asked.input, said.content) else said.content end as content
        from (select 1) one left join lateral (
          select content, exists (select 1 from turns o where o.id = m.turn_id and o.session_id = m.session_id) as is_own
          from messages m where m.session_id = s.id and m.role = 'user' order by m.seq limit 1
        ) said on true left join lateral (
          select input from turns t where t.session_id = s.id and t.input is not null order by t.accepted_at, t.id limit 1
        ) asked on true
      ) first cross join json_array_elements(first.content -> 'parts') with ordinality as parts (part, place)
      where part ->> 'type' = 'text')`;
}

/** Returns the preview of a text that `firstText` found. */
export function firstPreviewOf(text: string | null): string {
  return previewOf({ parts: [{ type: "text", text: text ?? "" }] });
}

/** Returns the preview of the message that a session began with, by what is stored of it. */
export async function findFirstPreview(sql: AnySql, sessionId: string): Promise<string> {
  const [row] = await sql<{ text: string | null }[]>`
    select /* session.first_text */ ${firstText(sql)} as text from sessions s where s.id = ${sessionId}`;
  return firstPreviewOf(row?.text ?? null);
}
