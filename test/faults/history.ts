import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import type { Client } from "../harness/processes.ts";
import { check } from "./check.ts";
import { checkNeighbours } from "./check-neighbours.ts";
import { RandomClient, type World } from "./client.ts";
import { CountingServer } from "./counting-server.ts";
import type { HostileTenant } from "./hostile-client.ts";
import { startHostileServers } from "./hostile-servers.ts";
import { type LinkedInstallation, openLinkedInstallation } from "./installation.ts";
import { drawBounds, endAllOf, eraseAllOf, hostileClients, moveIn, serveInFlood } from "./neighbours.ts";
import { troubleProcesses, troubleStores } from "./nemesis.ts";
import { clientTool } from "./plan.ts";
import { Random } from "./random.ts";
import { History, type Message } from "./record.ts";
import { keepErased, type Remains, readBusy, readRows, watchLimits } from "./rows.ts";
import { ToldServer } from "./webhooks.ts";

export interface HistoryOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  readonly log: (line: string) => void;
}

/** So few slots that tenants compete for them, and models that fall silent do not hold them for the whole history. */
const processEnv = { WORKER_CONCURRENCY: "5", MODEL_IDLE_SECONDS: "10" };
/** Sessions that all clients share. */
const sharedSessions = 5;
/** Once all faults are over, every request has its response within this on a busy machine. */
const responseMsMax = 120_000;
/** And every turn that ends without a cancellation has ended within this. */
const endedMs = 90_000;
/** At most so many faults are printed. */
const shownMax = 30;

/** Plays a history from its seed and returns what is wrong with it. */
export async function playHistory({ seed, seconds, clients, log }: HistoryOptions): Promise<string[]> {
  await using servers = await startHostileServers();
  await using counter = new CountingServer();
  await using linked = await openLinkedInstallation({ serve: 2, work: 2, env: processEnv });
  const { sql } = linked.installation;
  await keepErased(sql);
  await watchLimits(sql);
  const urls = linked.members.filter(({ role }) => role === "serve").map(({ url }) => url);
  const client = await linked.installation.client(urls[0]!);
  await using webhook = await ToldServer.open(client);
  const world: World = {
    history: new History(),
    token: client.token,
    agents: await makeAgents(client, counter),
    slots: Array(sharedSessions).fill(null),
    urls,
  };
  const bounds = drawBounds(new Random(seed, "bounds"));
  const hostile = await moveIn(linked.installation, servers, { urls, seed, seconds, bounds });
  const faults: string[] = [];
  const told: string[] = [];
  await play(linked, { world, hostile }, { seed, seconds, clients, log: (line) => told.push(line) }, faults);
  faults.push(...(await becomeIdle(linked, { world, hostile })));
  const remains = await readRemains(linked, { client, world, counter }).catch((error) => {
    throw new Error([String(error), ...linked.misdeeds()].join("\n"));
  });
  const { tenantId } = client;
  faults.push(...(await check(world.history, remains, told)), ...linked.misdeeds());
  faults.push(...(await webhook.check(sql, remains)));
  faults.push(
    ...(await checkNeighbours(sql, {
      hostile,
      bounds,
      tenantId,
      mark: `s${seed}-c`,
      history: world.history,
      turns: remains.turns,
    })),
  );
  faults.push(
    ...(await serveInFlood(linked.installation, [hostile, client], () => proveFree(client, world, remains), log)),
  );
  faults.push(...(await becomeIdle(linked, { world, hostile })));
  faults.push(...(await eraseAllOf(linked.installation, linked.redisUrl, hostile)));
  log(`seed ${seed}: ${told.length} faults: ${told.join("; ")}`);
  log(world.history.summary());
  log(`turns: ${countsOf(remains)}`);
  log(`hostile (${JSON.stringify(bounds)}): ${summaryOf(hostile)}`);
  log(`hostile turns: ${countsOf(await readRows(sql, hostile.tenantId))}`);
  faults.push(...proveBusy(world.history, remains, told));
  if (faults.length > 0) {
    const file = join(await mkdtemp(join(tmpdir(), "parley-history-")), `seed-${seed}.json`);
    const transcripts = Object.fromEntries(remains.transcripts);
    await writeFile(
      file,
      JSON.stringify({
        ...{ seed, told, faults, entries: world.history.entries },
        ...{ ...remains, transcripts, counted: Object.fromEntries(remains.counted) },
      }),
    );
    log(`${faults.length} contradictions; all of the history is in ${file}`);
  }
  return faults.slice(0, shownMax);
}

interface Tenants {
  readonly world: World;
  readonly hostile: HostileTenant;
}

/** One agent whose tools run at once, and one that asks first. */
async function makeAgents(client: Client, counter: CountingServer): Promise<string[]> {
  const mcpConnectionIds = [await counter.connect(client)];
  const given = await client.request("GET", `/v1/agents/${client.agentId}`);
  const { model, providerId } = (await given.json()) as { model: string; providerId: string };
  const agents: string[] = [];
  for (const policy of ["full", "auto"]) {
    const made = await client.request("POST", "/v1/agents", {
      name: policy,
      model,
      providerId,
      tools: ["memory"],
      mcpConnectionIds,
      clientTools: [clientTool],
      approvalInChat: { default: policy },
    });
    agents.push(((await made.json()) as { id: string }).id);
  }
  return agents;
}

/** Lets the clients do what they do while faults happen to the installation; then all faults end, and everybody gets a response. */
async function play(
  linked: LinkedInstallation,
  { world, hostile }: Tenants,
  options: HistoryOptions,
  faults: string[],
): Promise<void> {
  const { seed, seconds, clients, log } = options;
  const until = Date.now() + seconds * 1_000;
  const over = () => Date.now() >= until;
  const all = Array.from({ length: clients }, (_, index) => {
    const name = `s${seed}-c${index + 1}`;
    return new RandomClient(world, name, new Random(seed, `${name}/plans`), new Random(seed, `${name}/servers`));
  });
  const running = [...all, ...hostileClients(hostile, seed)].map((client) => client.run(over));
  await Promise.all([
    troubleProcesses(linked, new Random(seed, "processes"), over, log),
    troubleStores(linked, new Random(seed, "stores"), over, log),
  ]);
  await linked.heal();
  // What hangs until it is cancelled would hold up its readers.
  const finished = Promise.all(running).then(() => true);
  const done = await eventually(async () => {
    await cancelHanging(linked, world);
    return Promise.race([finished, new Promise((resolve) => setTimeout(() => resolve(false), 200))]);
  }, responseMsMax).catch(() => false);
  if (done) return;
  const waiting = all.filter(({ doing }) => doing !== "nothing").map(({ doing }) => doing);
  faults.push(`${waiting.length} clients had no response within ${responseMsMax} ms: ${waiting.join(", ")}`);
}

/** Cancels the turns whose model never responds. */
async function cancelHanging({ installation, members }: LinkedInstallation, { agents, token }: World): Promise<void> {
  const hanging = await installation.sql<{ agent: string; session: string }[]>`
    select agent_id as agent, session_id as session from turns
    where session_id is not null and cancel_requested_at is null and agent_id = any(${agents as string[]})
      and (status = 'waiting' or (status in ('queued', 'running') and (
        input::text like '%hangAfterChunks%' or trigger = 'regenerate-message')))
      and accepted_at < now() - interval '5 seconds'`;
  for (const { agent, session } of hanging) {
    const url = `${members[0]?.url}/v1/agents/${agent}/sessions/${session}/cancel`;
    await fetch(url, { method: "POST", headers: { authorization: `Bearer ${token}` } }).then((response) =>
      response.text(),
    );
  }
}

/** Waits until nothing is busy any more. */
async function becomeIdle(linked: LinkedInstallation, { world, hostile }: Tenants): Promise<string[]> {
  const { sql } = linked.installation;
  try {
    await eventually(async () => {
      await endAllOf(linked.installation, hostile);
      await cancelHanging(linked, world);
      // A copy whose process was killed is erased minutes later, in which it could still be used.
      await sql`
        update graphile_worker._private_jobs set run_at = now() where run_at > now() and priority = 0
          and task_id = (select id from graphile_worker._private_tasks where identifier = 'session.purge')`;
      const { turns, jobs, locks } = await readBusy(sql);
      return turns.length + jobs.length + locks === 0;
    }, endedMs);
    return [];
  } catch (error) {
    return [`not idle: ${String(error)} ${JSON.stringify(await readBusy(sql))}`];
  }
}

async function readRemains(
  linked: LinkedInstallation,
  { client, world, counter }: { client: Client; world: World; counter: CountingServer },
): Promise<Remains> {
  const rows = await readRows(linked.installation.sql, client.tenantId);
  const transcripts = new Map<string, readonly Message[]>();
  for (const { id, agentId, deleted } of rows.sessions) {
    if (!deleted) transcripts.set(id, await readTranscript(client, `/v1/agents/${agentId}/sessions/${id}/messages`));
  }
  for (const id of world.history.sessions)
    if (!rows.sessions.some((session) => session.id === id)) throw new Error(`The session ${id} is gone.`);
  const usage = await client.request("GET", "/v1/usage");
  const { totals } = (await usage.json()) as { totals: { requestCount: number } };
  return { ...rows, counted: counter.counts, transcripts, requestCount: totals.requestCount };
}

/** A whole transcript, walked back from its newest page. */
async function readTranscript(client: Client, path: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = await client.request("GET", `${path}?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`);
    if (page.status !== 200) throw new Error(`${path}: ${page.status} ${await page.text()}`);
    const { data, nextCursor } = (await page.json()) as { data: Message[]; nextCursor: string | null };
    messages.unshift(...data);
    cursor = nextCursor;
  }
  return messages;
}

/** Each session that is left takes a new turn at once. */
async function proveFree(client: Client, _world: World, { sessions }: Remains): Promise<string[]> {
  const faults: string[] = [];
  for (const { id, agentId, deleted } of sessions) {
    if (deleted) continue;
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: '[[sim: text="free"]]' }] };
    const path = `/v1/agents/${agentId}/sessions/${id}`;
    const response = await client.request("POST", path, { message, stream: false });
    const text = await response.text();
    if (response.status !== 200) faults.push(`${id} takes no new turn: ${response.status} ${text}`);
  }
  return faults;
}

/** A history in which nothing happened proves nothing. */
function proveBusy({ entries }: History, { turns }: Remains, told: readonly string[]): string[] {
  const happened = {
    faults: told.length,
    "turns that succeeded": turns.filter(({ status }) => status === "succeeded").length,
    "streams that were read": entries.filter(({ reading }) => (reading?.ids.length ?? 0) > 1).length,
  };
  return Object.entries(happened).flatMap(([what, count]) => (count === 0 ? [`there were no ${what}`] : []));
}

function summaryOf({ responses }: HostileTenant): string {
  const counts = Map.groupBy(responses, ({ status, what }) => `${what.split(" ")[0]} ${status}`);
  return [...counts]
    .map(([name, all]) => `${name}: ${all.length}`)
    .sort()
    .join(", ");
}

function countsOf({ turns }: Pick<Remains, "turns">): string {
  const counts = Map.groupBy(
    turns,
    ({ status, attempt }) => `${status}${attempt > 1 ? " after more than one run" : ""}`,
  );
  return [...counts].map(([name, all]) => `${all.length} ${name}`).join(", ");
}
