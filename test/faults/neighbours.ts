import type { IdOf } from "../../src/kernel/ids.ts";
import { endTurnsOf } from "../../src/sessions/cancel/end-all.ts";
import { eventually } from "../harness/eventually.ts";
import type { Client, Installation } from "../harness/processes.ts";
import { redisKeysWith, tablesWith } from "../harness/traces.ts";
import { HostileClient, type HostileTenant } from "./hostile-client.ts";
import type { HostileServers } from "./hostile-servers.ts";
import { Random } from "./random.ts";

/** So many clients does the hostile tenant have. */
const hostileClientCount = 8;
/** Turns that it asks for in a second of the history, at most. */
const turnsPerSecond = 8;
/** Turns that never answer, in which the other tenant is served at the end: more than all workers have slots. */
const lastFloodTurns = 15;
/** What is deleted is gone within this. */
const erasedMs = 60_000;
/** On a busy machine the flood is accepted, and a turn beside it answered, within this. */
const floodMs = 60_000;

/** What an operator has set for the hostile tenant. */
export interface Bounds {
  readonly runningTurns: number | null;
  readonly credit: number;
}

/** Draws them: some histories have a limit of running turns, some a credit that is soon spent. */
export function drawBounds(random: Random): Bounds {
  return {
    runningTurns: random.chance(0.5) ? random.between(2, 5) : null,
    credit: random.chance(0.3) ? random.between(500, 8_000) : 1_000_000_000,
  };
}

/** Makes the hostile tenant, with agents at its own servers, one of them with an MCP server that falls silent. */
export async function moveIn(
  installation: Installation,
  servers: HostileServers,
  { urls, seed, seconds, bounds }: { urls: readonly string[]; seed: number; seconds: number; bounds: Bounds },
): Promise<HostileTenant & { readonly client: Client }> {
  const client = await installation.client(urls[0] as string, servers.modelUrl);
  const made = await client.request("GET", `/v1/agents/${client.agentId}`);
  const { model, providerId } = (await made.json()) as { model: string; providerId: string };
  const agent = { model, providerId, tools: ["memory"], approvalInChat: { default: "auto" } };
  const connection = await client.request("POST", "/v1/mcp-connections", {
    name: "silent",
    url: servers.mcp.url,
    authType: "none",
  });
  const connected = (await connection.json()) as { id: string };
  const agents: string[] = [];
  for (const more of [{ mcpConnectionIds: [connected.id] }, {}, {}]) {
    const response = await client.request("POST", "/v1/agents", { ...agent, name: `h-${agents.length}`, ...more });
    agents.push(((await response.json()) as { id: string }).id);
  }
  // Nobody is there to be told.
  await client.request("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/", events: ["turn.ended"] });
  servers.silence();
  const { runningTurns, credit } = bounds;
  await installation.sql`
    update tenants set running_turns = ${runningTurns}, usage_credit = ${credit} where id = ${client.tenantId}`;
  return {
    client,
    tenantId: client.tenantId,
    token: client.token,
    marker: `hostile-words-${seed}`,
    urls,
    mcpUrl: servers.mcp.url,
    agent,
    agents,
    sessions: [],
    turnsLeft: seconds * turnsPerSecond,
    responses: [],
  };
}

/** The hostile tenant's clients, as the seed has them. */
export function hostileClients(tenant: HostileTenant, seed: number): HostileClient[] {
  return Array.from({ length: hostileClientCount }, (_, index) => {
    const name = `h${seed}-c${index + 1}`;
    return new HostileClient(tenant, name, new Random(seed, `${name}/plans`), new Random(seed, `${name}/servers`));
  });
}

/** Ends everything of the tenant that is queued, running or waiting, as an operator does. */
export async function endAllOf({ sql }: Installation, { tenantId }: HostileTenant): Promise<void> {
  await endTurnsOf(sql, tenantId as IdOf<"tenant">, {});
}

/**
 * Lets the hostile tenant ask for more turns that hang than there are slots, and meanwhile
 * the other one for a turn, and for what `meanwhile` does. Returns what is wrong: a turn that
 * is not answered, or one that is served after everything of the flood.
 */
export async function serveInFlood(
  { sql }: Installation,
  [hostile, client]: readonly [HostileTenant, Client],
  meanwhile: () => Promise<string[]>,
  log: (line: string) => void,
): Promise<string[]> {
  await sql`update tenants set usage_credit = null where id = ${hostile.tenantId}`;
  hostile.turnsLeft = 2 * lastFloodTurns;
  const flood = Promise.all(
    hostileClients(hostile, 0)
      .slice(0, 2)
      .map((one) => one.flood(lastFloodTurns, "hang")),
  );
  const waitingOf = async () => {
    const rows = await sql`select 1 from turns where tenant_id = ${hostile.tenantId} and status = 'queued'`;
    return rows.length;
  };
  await flood;
  await eventually(async () => (await waitingOf()) > 1, floodMs);
  const answered = await Promise.race([
    client.json('[[sim: text="served"]]'),
    new Promise<null>((resolve) => setTimeout(() => resolve(null), floodMs)),
  ]);
  if (answered === null) return [`a turn beside a flood is not answered within ${floodMs} ms`];
  if (answered.status !== 201) return [`a turn beside a flood is ${answered.status} ${JSON.stringify(answered.body)}`];
  const [line] = await sql<{ waiting: number; overtaken: number }[]>`
    select count(*)::int as waiting,
      count(*) filter (where h.claimed_at is null or h.claimed_at > t.claimed_at)::int as overtaken
    from turns t join turns h on h.tenant_id = ${hostile.tenantId} and h.accepted_at < t.accepted_at
      and (h.claimed_at is null or h.claimed_at > t.accepted_at) and (h.finished_at is null or h.finished_at > t.accepted_at)
    where t.id = ${answered.turnId}`;
  const { waiting = 0, overtaken = 0 } = line ?? {};
  log(`a turn was served before ${overtaken} of the ${waiting} turns of a flood that waited`);
  const last = waiting > 1 && overtaken === 0 ? [`a turn was served behind all ${waiting} of a flood`] : [];
  return [...last, ...(await meanwhile())];
}

/** Deletes all that the hostile tenant has. Returns where a word of it is left. */
export async function eraseAllOf(
  { sql }: Installation,
  redisUrl: string,
  { client, marker }: HostileTenant & { readonly client: Client },
): Promise<string[]> {
  const { agents } = (await (await client.request("GET", "/v1/agents")).json()) as { agents: { id: string }[] };
  const faults: string[] = [];
  for (const { id } of agents) {
    const gone = await client.request("DELETE", `/v1/agents/${id}`);
    if (gone.status !== 204) faults.push(`DELETE of the agent ${id} is ${gone.status} ${await gone.text()}`);
  }
  let left: string[] = [];
  await eventually(async () => {
    const tables = (await tablesWith(sql, marker)).filter((name) => !name.startsWith("erased."));
    left = [...tables, ...(await redisKeysWith(redisUrl, marker))];
    return left.length === 0;
  }, erasedMs).catch(() => faults.push(`words of deleted sessions are left in ${left.join(", ")}`));
  return faults;
}
