import type { AgentCreate, Provider, ProviderCreate } from "parley/client";
import type { AnySql } from "../../src/kernel/database/client.ts";
import { type IdOf, newId } from "../../src/kernel/ids.ts";
import type { Harness, TestTenant } from "./harness.ts";

/** What has a model to talk to. */
interface WithModel {
  readonly model: { readonly url: string };
}

/** A provider and an agent on the simulated model; returns the agent's id. */
export async function makeAgent(
  h: WithModel,
  t: Pick<TestTenant, "parley">,
  fields: Partial<AgentCreate> = {},
): Promise<IdOf<"agent">> {
  const name = `n-${crypto.randomUUID().slice(0, 8)}`;
  const provider = await makeProvider(h, t, { name });
  const agent = await t.parley.agents.create({ name, model: "simulated/model", providerId: provider.id, ...fields });
  return agent.id as IdOf<"agent">;
}

/** A provider that is the simulated model, or a server elsewhere. */
export function makeProvider(
  h: WithModel,
  t: Pick<TestTenant, "parley">,
  fields: Partial<ProviderCreate> = {},
): Promise<Provider> {
  const name = `n-${crypto.randomUUID().slice(0, 8)}`;
  const server = { providerType: "custom" as const, baseUrl: h.model.url, apiKey: "sk-test-0123456789" };
  return t.parley.providers.create({ name, ...server, ...fields });
}

let messages = 0;

/** A user's message with one text. */
export function userMessage(text: string) {
  messages += 1;
  return { id: `m${messages}`, role: "user" as const, parts: [{ type: "text" as const, text }] };
}

/** The events of an SSE body: comments left out, data parsed, `[DONE]` kept as text. */
export function sseEvents(body: string): { id: string | null; data: unknown }[] {
  return body
    .split("\n\n")
    .filter((block) => block.includes("data: "))
    .map((block) => {
      const id = /^id: ([^\n]*)/m.exec(block)?.[1] ?? null;
      const data = /^data: ([^\n]*)/m.exec(block)?.[1] ?? "";
      return { id, data: data === "[DONE]" ? data : JSON.parse(data) };
    });
}

/** The chunks of an SSE body. */
export function chunksOf(body: string): { type: string; [field: string]: unknown }[] {
  return sseEvents(body).flatMap(({ data }) => (data === "[DONE]" ? [] : [data as { type: string }]));
}

/** Fills an agent up to `count` memories, the first the least recently accessed. */
export async function fillMemories(h: Harness, t: TestTenant, agent: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId("memory")).sort();
  await h.sql`
    insert into memories (id, tenant_id, agent_id, text, words, last_accessed_at, created_at)
    select made.id, ${t.id}, ${agent}, 'memory ' || made.place, to_tsvector('simple', 'memory ' || made.place),
      now() - interval '1 hour' + made.place * interval '1 second', now() - interval '1 hour' + made.place * interval '1 second'
    from unnest(${ids}::text[]) with ordinality as made (id, place)`;
  return ids;
}

/** An event of usage as it stands in the ledger; `fields` are columns. Returns its id. */
export async function insertUsageEvent(
  sql: AnySql,
  fields: { readonly tenant_id: string; readonly connection_id: string; readonly [column: string]: unknown },
): Promise<string> {
  const row = {
    id: newId("merchantEvent"),
    provider: "billing_a",
    turn_id: newId("turn"),
    user_id: "anna",
    customer_id: "customer-1",
    agent_id: newId("agent"),
    session_id: newId("session"),
    model: "simulated/model",
    model_provider: "custom",
    input_tokens: 30,
    output_tokens: 7,
    turn_status: "succeeded",
    started_at: new Date(),
    ...fields,
  };
  await sql`insert into merchant_events ${sql(row as never)}`;
  return row.id;
}
