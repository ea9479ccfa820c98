/** Sessions that have had nine turns, so that the next turn of each is its tenth. */
import type { UIMessage } from "ai";
import type postgres from "postgres";
import { newId } from "../src/kernel/ids.ts";
import type { StandTenant } from "./stand.ts";

/** Turns that a session has had. */
const turnsBefore = 9;
/** Chunks of each of its answers, as many as the next one has. */
const chunks = 20;

/** The messages of the turns before: what the client of an endpoint that stores nothing sends with each turn. */
export const earlierMessages: readonly UIMessage[] = Array.from({ length: turnsBefore }, (_, turn) => [
  message(`u${turn}`, "user", `How is the weather, number ${turn}?`),
  message(`a${turn}`, "assistant", Array.from({ length: chunks }, (_, chunk) => `chunk-${chunk + 1} `).join("")),
]).flat();

function message(id: string, role: "user" | "assistant", text: string): UIMessage {
  return { id, role, parts: [{ type: "text", text }] };
}

/**
 * Writes so many sessions of a tenant's agent with their turns, messages and usage as if they had happened. Returns
 * their ids. What Postgres would do about so many rows by and by is done before it returns, so that no round has it.
 */
export async function seedTenths(sql: postgres.Sql, tenant: StandTenant, count: number): Promise<string[]> {
  const { tenantId, agentId } = tenant;
  const ids = Array.from({ length: count }, () => newId("session"));
  const sessions = sql`unnest(${ids}::text[]) as s(id)`;
  const turnId = (turn: postgres.Fragment) => sql`'turn_' || substr(md5(s.id || ${turn}), 1, 24)`;
  const numbers = sql`generate_series(0, ${turnsBefore - 1}::int) t`;
  const firstTurn = sql`${turnId(sql`t`)}, ${tenantId}, ${agentId}, s.id`;
  await sql.begin(async (inner) => {
    await inner`
      insert into sessions (id, tenant_id, agent_id, user_id, visible, message_count, last_message_preview)
      select s.id, ${tenantId}, ${agentId}, '', true, ${earlierMessages.length}, 'chunk-1 chunk-2' from ${sessions}`;
    await inner`
      insert into turns (id, tenant_id, agent_id, session_id, kind, status, attempt, agent_version, input,
        assistant_message_id, user_id, input_tokens, output_tokens, model_calls, run_ms, claimed_at, finished_at)
      select ${firstTurn}, 'session', 'succeeded', 1, 1, ${sql.json(earlierMessages as never)}::json -> (2 * t), 'a' || t, '', 20, 30, 1, 900, now(), now()
      from ${sessions}, ${numbers}`;
    await inner`
      insert into messages (session_id, seq, id, role, turn_id, content)
      select s.id, m.n - 1, m.content ->> 'id', m.content ->> 'role', ${turnId(sql`(m.n - 1) / 2`)}, m.content
      from ${sessions}, json_array_elements(${sql.json(earlierMessages as never)}::json) with ordinality m(content, n)`;
    await inner`
      insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
        duration_ms, day, summed, user_summed, session_summed, parts_summed)
      select ${firstTurn}, '', 'custom', 'simulated/model', 20, 30, 900, (now() at time zone 'UTC')::date, true, true, true, true
      from ${sessions}, ${numbers}`;
  });
  for (const table of ["sessions", "turns", "messages", "usage"]) await sql`vacuum analyze ${sql(table)}`;
  await sql`checkpoint`;
  return ids;
}

/** Sessions whose next turn is the tenth, each to be used once. */
export class Tenths {
  readonly #sql: postgres.Sql;
  readonly #tenant: StandTenant;
  #ids: string[] = [];

  constructor(sql: postgres.Sql, tenant: StandTenant) {
    this.#sql = sql;
    this.#tenant = tenant;
  }

  /** Makes sure that so many are there. */
  async prepare(count: number): Promise<void> {
    if (this.#ids.length < count)
      this.#ids.push(...(await seedTenths(this.#sql, this.#tenant, count - this.#ids.length)));
  }

  /** Takes one. Throws when there is none left. */
  take(): string {
    const id = this.#ids.pop();
    if (id === undefined) throw new Error("No session of nine turns is left.");
    return id;
  }

  /** Takes so many. */
  takeAll(count: number): string[] {
    return Array.from({ length: count }, () => this.take());
  }
}
