import type { Sql } from "../../src/kernel/database/client.ts";
import { checkTurns } from "./check.ts";
import type { HostileTenant } from "./hostile-client.ts";
import type { Bounds } from "./neighbours.ts";
import type { Entry, History } from "./record.ts";
import { readOverruns, readRows, type TurnRecord } from "./rows.ts";

/** Two tenants of one history: one that means harm, and what stands in everything that the other says. */
export interface Neighbours {
  readonly hostile: HostileTenant;
  readonly bounds: Bounds;
  readonly tenantId: string;
  readonly mark: string;
  readonly history: History;
  readonly turns: readonly TurnRecord[];
}

/** Tokens that a provider may say of one call. */
const tokensPerCallMax = 2_147_483_647;

/** Returns each way in which one tenant got something of another, or more than it may have. */
export async function checkNeighbours(sql: Sql, neighbours: Neighbours): Promise<string[]> {
  const { hostile, history } = neighbours;
  return [
    ...history.entries.flatMap((entry) => checkForeign(entry, hostile)),
    ...hostile.responses.flatMap(({ what, status, text }) => {
      const said = `the hostile ${what}: ${status}`;
      const foreign = text.includes(neighbours.mark) || text.includes(neighbours.tenantId);
      return [...(status === 500 ? [`${said} ${text}`] : []), ...(foreign ? [`${said}: words of another tenant`] : [])];
    }),
    ...checkProviders(neighbours),
    ...checkTurns((await readRows(sql, hostile.tenantId)).turns),
    ...checkDecisions(hostile),
    ...(await checkStored(sql, neighbours)),
    ...(await checkMeter(sql, neighbours)),
    ...(await checkErased(sql)),
    ...(await readOverruns(sql)).map(({ tenantId, what }) => `${tenantId}: ${what}`),
  ];
}

function checkForeign({ id, kind, body, reading }: Entry, hostile: HostileTenant): string[] {
  const text = JSON.stringify([body, reading?.chunks]);
  const foreign = [hostile.marker, hostile.tenantId].filter((word) => text.includes(word));
  return foreign.map((word) => `${id} (${kind}) was told of another tenant: ${word}`);
}

/** A model that answers well fails no turn, whatever other models do. */
function checkProviders({ history, turns }: Neighbours): string[] {
  const asked = new Map(history.entries.map(({ op, message }) => [op, JSON.stringify(message?.parts ?? null)]));
  return turns.flatMap(({ id, op, trigger, error }) => {
    const text = asked.get(op ?? "") ?? "";
    if (error?.code !== "provider_error" || trigger !== "submit-message" || /fail=|hangAfterChunks/.test(text))
      return [];
    return [`${id} failed, and its model did not: ${error.message}: ${text}`];
  });
}

/** Of decisions that were made at once, one was taken: nobody was told otherwise. */
function checkDecisions({ responses }: HostileTenant): string[] {
  const taken = responses.filter(({ what, status }) => status === 202 && what.includes("/tool-approvals/"));
  const byApproval = Map.groupBy(taken, ({ what }) => what);
  return [...byApproval].flatMap(([what, all]) => (all.length === 1 ? [] : [`${what} was taken ${all.length} times`]));
}

/** No tenant's rows hold what another one said. */
async function checkStored(sql: Sql, { hostile, tenantId, mark }: Neighbours): Promise<string[]> {
  const foreign: string[] = [];
  for (const [owner, word] of [
    [hostile.tenantId, mark],
    [tenantId, hostile.marker],
  ] as const) {
    const rows = await sql<{ place: string }[]>`
      select 'message ' || m.id as place from messages m join sessions s on s.id = m.session_id
      where s.tenant_id = ${owner} and strpos(m.content::text, ${word}) > 0
      union all select 'turn ' || t.id from turns t
      where t.tenant_id = ${owner} and strpos(concat(t.input, t.answer, t.last_chunk, t.error), ${word}) > 0
      union all select 'memory ' || y.id from memories y where y.tenant_id = ${owner} and strpos(y.text, ${word}) > 0`;
    foreign.push(...rows.map(({ place }) => `${place} of ${owner} has ${word}`));
  }
  return foreign;
}

/** What a turn used is what its row, its usage and the tenant's credit say, and no more than a provider may say. */
async function checkMeter(sql: Sql, { hostile, bounds }: Neighbours): Promise<string[]> {
  const turns = await sql<{ id: string; calls: number; tokens: number; metered: number | null; status: string }[]>`
    select t.id, t.status, t.model_calls as calls, (t.input_tokens + t.output_tokens)::float8 as tokens,
      (select sum(u.input_tokens + u.output_tokens)::float8 from usage u where u.turn_id = t.id) as metered
    from (select * from turns union all select * from erased.turns) t where tenant_id = ${hostile.tenantId}`;
  const faults = turns.flatMap(({ id, status, calls, tokens, metered }) => {
    const said = `${id} (${status}) has ${tokens} tokens of ${calls} calls, and ${metered} are metered`;
    return tokens < 0 || tokens !== metered || tokens > 2 * calls * tokensPerCallMax ? [said] : [];
  });
  const [row] = await sql<{ credit: number }[]>`
    select usage_credit::float8 as credit from tenants where id = ${hostile.tenantId}`;
  const spent = turns.reduce((sum, { tokens }) => sum + tokens, 0);
  if (row?.credit !== bounds.credit - spent)
    faults.push(`of ${bounds.credit} tokens ${spent} were spent, and ${row?.credit} are left`);
  return faults;
}

/** Of a session that was deleted no row is left once its purge is over. */
async function checkErased(sql: Sql): Promise<string[]> {
  const rows = await sql<{ place: string }[]>`
    select 'session ' || id as place from sessions where deleted_at is not null
    union all select 'message ' || id from messages m where not exists (select 1 from sessions s where s.id = m.session_id)
    union all select 'turn ' || id from turns t
    where session_id is not null and not exists (select 1 from sessions s where s.id = t.session_id)
    union all select 'approval ' || id from approvals p where not exists (select 1 from sessions s where s.id = p.session_id)
    union all select 'continuation ' || id from continuations c where not exists (select 1 from turns t where t.id = c.turn_id)
    union all select 'summary of ' || session_id from session_summaries y
    where not exists (select 1 from sessions s where s.id = y.session_id)`;
  return rows.map(({ place }) => `${place} is left of what was deleted`);
}
