import type postgres from "postgres";
import { andOf, andSharedWith, andWithin } from "../auth/agent-scope.ts";
import type { Principal } from "../auth/authenticator.ts";
import type { AnySql } from "../database/client.ts";
import { type IdKind, isId } from "../ids.ts";

/** What a request names, checked. */
interface Asked<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}

/** Fields that name something which may be another agent's; in the path every id does. */
const namingFields: ReadonlySet<string> = new Set([
  "agentId",
  "model",
  "previous_response_id",
  "sessionId",
  "workspaceId",
]);

/** Returns, for an id of a kind, the query that has a row where what it names is a tenant's and within reach. */
type Within = (sql: AnySql, id: string, who: Pick<Principal, "tenant" | "agentIds">) => postgres.Fragment;

const ofAgent =
  (table: string): Within =>
  (sql, id, { tenant, agentIds }) =>
    sql`select 1 from ${sql(table)} r where r.id = ${id} and r.tenant_id = ${tenant.id} ${andOf(sql, sql`r.agent_id`, agentIds)}`;

const ofAgents =
  (table: string): Within =>
  (sql, id, { tenant, agentIds }) =>
    sql`select 1 from ${sql(table)} r where r.id = ${id} and r.tenant_id = ${tenant.id} ${andWithin(sql, sql`r.agent_ids`, agentIds)}`;

const bodyOf = (id: string) => id.slice(id.indexOf("_") + 1);

const ofWorkspace: Within = (sql, id, { tenant, agentIds }) => sql`
  select 1 from workspaces w where w.id = ${`ws_${bodyOf(id)}`} and w.tenant_id = ${tenant.id}
    ${andSharedWith(sql, sql`w.id`, agentIds)}`;

/** A response is a turn up to its end or to where it stops to ask. */
const ofResponse: Within = (sql, id, { tenant, agentIds }) => sql`
  select 1 from turns t
  where t.id = coalesce((select c.turn_id from continuations c where c.id = ${`cont_${bodyOf(id)}`}), ${`turn_${bodyOf(id)}`})
    and t.tenant_id = ${tenant.id} ${andOf(sql, sql`t.agent_id`, agentIds)}`;

/** What belongs to an agent, or is limited to some, and has a separate id. */
const byKind: Readonly<Partial<Record<IdKind, Within>>> = {
  apiKey: ofAgents("api_keys"),
  budget: ofAgent("budgets"),
  chatConnection: ofAgent("chat_connections"),
  clientToken: ofAgent("client_tokens"),
  merchantEvent: ofAgent("merchant_events"),
  response: ofResponse,
  session: ofAgent("sessions"),
  task: ofAgent("tasks"),
  turn: ofAgent("turns"),
  webhook: ofAgents("webhooks"),
  workspace: ofWorkspace,
};

/**
 * Returns what a request names as who is limited to some agents may name it: an id of what lies outside them is put in
 * the place of one that nothing has. So the operation answers it as what is missing, whatever it says of that.
 */
export async function withinReach<P extends object, Q extends object, B>(
  sql: AnySql,
  who: Pick<Principal, "tenant" | "agentIds">,
  { params, query, body }: Asked<P, Q, B>,
): Promise<Asked<P, Q, B>> {
  if (who.agentIds === null) return { params, query, body };
  // What the path names below an agent is that agent's, or is not found.
  const isBelowAgent = "agentId" in params;
  const isNaming = (name: string) => (isBelowAgent ? name === "agentId" : true);
  const inFields = (name: string) => namingFields.has(name);
  return {
    params: await hideIn(sql, who, params, isNaming),
    query: await hideIn(sql, who, query, inFields),
    body: isFields(body) ? await hideIn(sql, who, body, inFields) : body,
  };
}

function isFields(body: unknown): body is object {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}

async function hideIn<T extends object>(
  sql: AnySql,
  who: Pick<Principal, "tenant" | "agentIds">,
  fields: T,
  isNaming: (name: string) => boolean,
): Promise<T> {
  const entries: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!isNaming(name)) entries.push([name, value]);
    else if (typeof value === "string") entries.push([name, await hideOutside(sql, who, value)]);
    else entries.push([name, value]);
  }
  return Object.fromEntries(entries) as T;
}

async function hideOutside(sql: AnySql, who: Pick<Principal, "tenant" | "agentIds">, id: string): Promise<string> {
  if (isId("agent", id)) return who.agentIds?.includes(id) === false ? idOfNothing(id) : id;
  const within = kindOf(id);
  if (within === undefined) return id;
  const [row] = await sql`${within(sql, id, who)}`;
  return row === undefined ? idOfNothing(id) : id;
}

function kindOf(id: string): Within | undefined {
  // A sandbox is form A's name of a workspace.
  if (/^sb_[0-9a-z]{24}$/.test(id)) return ofWorkspace;
  return Object.entries(byKind).find(([kind]) => isId(kind as IdKind, id))?.[1];
}

/** Returns an id of the same kind that nothing has: ids begin with the time. */
function idOfNothing(id: string): string {
  return id.replace(/[0-9a-z]{24}$/, "0".repeat(24));
}
