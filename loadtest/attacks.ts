/** What a bad neighbour does to an installation, each until it is told to stop. */
import type { ServerResponse } from "node:http";
import postgres from "postgres";
import { startLoopback } from "../test/servers/loopback.ts";
import { type SlackBot, slackEvent, slackRequest } from "../test/servers/slack.ts";
import { startPlatforms } from "./platforms.ts";
import type { Stand, StandTenant } from "./stand.ts";

/** How often each status came back; 0 where no response did. */
export type Statuses = Map<number, number>;

/** One kind of attack. */
export interface Attack {
  readonly name: string;
  /** How many tenants join in it. */
  readonly tenants: number;
  /** Prepares a tenant, and returns what its clients do over and over. Each call is one request; it returns its status. */
  prepare(
    stand: Stand,
    tenant: StandTenant,
    opened: AsyncDisposableStack,
  ): Promise<(signal: AbortSignal) => Promise<number>>;
  /** How many clients of a tenant do it at once. */
  readonly clients: number;
}

/** What the stand's service is told at its start, so that every attack can be made. */
export interface Surroundings extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly attacks: readonly Attack[];
}

/** Starts the servers of the attacker, in this process. */
export async function startSurroundings(): Promise<Surroundings> {
  const opened = new AsyncDisposableStack();
  const platforms = await startPlatforms();
  opened.defer(() => platforms.stop());
  const silent = await startServer(opened, () => {});
  const endless = await startServer(opened, writeEndlessLine);
  const crumbs = await startServer(opened, writeCrumbs);

  const slowTurns = (name: string, tenants: number): Attack => ({
    name,
    tenants,
    clients: Math.floor(200 / tenants),
    prepare: async ({ url }, tenant) => turnOf(url, tenant, tenant.agentId, "[[sim: chunks=30 delayMs=100]]"),
  });
  const turnsAt = (name: string, clients: number, modelUrl: string): Attack => ({
    name,
    tenants: 1,
    clients,
    prepare: async ({ url }, tenant) => turnOf(url, tenant, await agentAt(tenant, modelUrl), "hello"),
  });
  const attacks: Attack[] = [
    slowTurns("slow turns: 200 clients, 3 s each", 1),
    slowTurns("slow turns of three tenants", 3),
    turnsAt("turns at a model that hangs: 100 clients", 100, silent),
    turnsAt("a model that never ends its line: 20 clients", 20, endless),
    turnsAt("a model of empty events: 20 clients", 20, crumbs),
    {
      name: "requests: 300 clients list agents",
      tenants: 1,
      clients: 300,
      prepare: async ({ url }, tenant) => requestOf(url, tenant, "GET", "/v1/agents"),
    },
    {
      name: "reports: 20 clients group 500,000 turns by session",
      tenants: 1,
      clients: 20,
      prepare: async (stand, tenant) => {
        await seedUsage(stand.databaseUrl, tenant);
        const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
        return requestOf(
          stand.url,
          tenant,
          "GET",
          `/v1/usage?groupBy=session&agentId=${tenant.agentId}&from=${day(29)}&to=${day(0)}`,
        );
      },
    },
    {
      name: "uploads: 20 clients send 8 MB of JSON",
      tenants: 1,
      clients: 20,
      prepare: async ({ url }, tenant) => {
        const body = JSON.stringify({ name: "x", model: "m", metadata: { values: new Array(2_000_000).fill([]) } });
        return requestOf(url, tenant, "POST", "/v1/agents", body.slice(0, 8_000_000));
      },
    },
    {
      name: "webhooks: 30 clients send 512 KiB of unfinished marks",
      tenants: 1,
      clients: 30,
      prepare: async ({ url }, tenant) => {
        const { slack } = (await platforms.connect(tenant.call, tenant.agentId)) as Connected;
        return (signal) => send(hostileMessage(`${url}${slack.url}`, slack.bot), {}, signal);
      },
    },
    {
      name: "Idempotency-Keys: 30 clients at an MCP server that hangs",
      tenants: 1,
      clients: 30,
      prepare: async ({ url }, tenant) => {
        const body = JSON.stringify({ name: "silent", url: `${silent}/mcp`, authType: "none" });
        return (signal) => {
          const headers = { ...headersOf(tenant), "idempotency-key": crypto.randomUUID() };
          return send(`${url}/v1/mcp-connections`, { method: "POST", headers, body }, signal);
        };
      },
    },
  ];
  return { env: platforms.env, attacks, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** What `connect` of the platforms returns for Slack. */
interface Connected {
  readonly slack: { readonly url: string; readonly bot: SlackBot };
}

async function startServer(opened: AsyncDisposableStack, answer: (response: ServerResponse) => void): Promise<string> {
  const { origin, stop } = await startLoopback((request, response) => {
    request.resume();
    if (request.method === "GET") response.end(JSON.stringify({ data: [{ id: "m" }] }));
    else answer(response);
  });
  opened.defer(stop);
  return `${origin}/v1`;
}

function writeEndlessLine(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).write('data: "');
  writeForEver(response, "a".repeat(64 * 1024));
}

/** Events that say nothing, as many as are taken. */
function writeCrumbs(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "" } }] })}\n\n`;
  writeForEver(response, event.repeat(100));
}

function writeForEver(response: ServerResponse, piece: string): void {
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
}

function headersOf({ apiKey }: StandTenant): Record<string, string> {
  return { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
}

function requestOf(url: string, tenant: StandTenant, method: string, path: string, body?: string) {
  const options = { method, headers: headersOf(tenant), ...(body === undefined ? {} : { body }) };
  return (signal: AbortSignal) => send(`${url}${path}`, options, signal);
}

function turnOf(url: string, tenant: StandTenant, agentId: string, text: string) {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text }] };
  return requestOf(url, tenant, "POST", `/v1/agents/${agentId}/sessions`, JSON.stringify({ message }));
}

/** Makes an agent on a model of the attacker's own. */
async function agentAt({ call }: StandTenant, modelUrl: string): Promise<string> {
  const fields = { name: "own", providerType: "custom", baseUrl: modelUrl, apiKey: "sk-own" };
  const { id } = await call("POST", "/v1/providers", fields);
  const agent = await call("POST", "/v1/agents", { name: "own", model: "m", providerId: id });
  return agent.id;
}

async function send(to: string | Request, options: RequestInit, signal: AbortSignal): Promise<number> {
  const response = await fetch(to, { ...options, signal });
  // What a client does not read, the service cannot send.
  for await (const _ of (response.body ?? []) as AsyncIterable<Uint8Array>);
  return response.status;
}

function hostileMessage(url: string, bot: SlackBot): Request {
  const text = "<http:a".repeat(75_000);
  const event = { type: "message", channel_type: "im", channel: "D1", user: "U2", ts: `${Date.now() / 1000}`, text };
  return slackRequest(bot, url, slackEvent(bot, event));
}

/** Turns of many sessions, as a year of work leaves them: summed. All of them are read where an agent's are asked for. */
async function seedUsage(databaseUrl: string, { tenantId, agentId }: StandTenant): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  await sql`
    insert into usage (turn_id, tenant_id, agent_id, session_id, input_tokens, output_tokens, duration_ms, day,
      summed, user_summed, session_summed)
    select ${tenantId} || n, ${tenantId}, ${agentId}, 'session_' || (n / 2), 100, 50, 1000,
      (now() at time zone 'UTC')::date - (n % 29), true, true, true
    from generate_series(1, 500000) n`;
  await sql`
    insert into usage_sums (tenant_id, day, agent_id, turns, input_tokens, output_tokens, duration_ms)
    select tenant_id, day, agent_id, count(*), sum(input_tokens), sum(output_tokens), sum(duration_ms)
    from usage where tenant_id = ${tenantId} group by 1, 2, 3`;
  await sql`
    insert into usage_user_sums (tenant_id, day, user_id, agent_id, turns, input_tokens, output_tokens, duration_ms)
    select tenant_id, day, user_id, agent_id, count(*), sum(input_tokens), sum(output_tokens), sum(duration_ms)
    from usage where tenant_id = ${tenantId} group by 1, 2, 3, 4`;
  await sql`
    insert into usage_session_tokens (tenant_id, session_id, tokens)
    select tenant_id, session_id, sum(input_tokens + output_tokens) from usage where tenant_id = ${tenantId} group by 1, 2`;
  await sql.end();
}
