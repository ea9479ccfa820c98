/**
 * What the clients of a soak do: a few turns a second of several tenants, everything that an installation is
 * used for in turn. Each step checks what it got, and throws where it is not what it should be.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StreamReader } from "../test/harness/stream-reader.ts";
import type { StandTenant } from "./stand.ts";

/** What was done, and what went wrong. */
export class Tally {
  readonly counts = new Map<string, number>();
  readonly faults: string[] = [];

  add(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}

/** A tenant whose clients ask all HTTP processes in turn. */
export interface SoakTenant extends StandTenant {
  /** The addresses of the HTTP processes. */
  readonly urls: readonly string[];
  /** An agent whose tool calls wait for a person. */
  readonly askingAgentId: string;
  readonly taskId: string;
  /** Sends a chat message whose answer is this text. */
  readonly chat: (text: string) => Promise<void>;
}

/** Faults of a run are told in these many words at most. */
const faultsMax = 200;
/** A response that has not ended by then is a fault. */
const patienceMs = 60_000;
/** Sessions that a client goes on with, at most: longer ones would make turns dearer. */
const turnsPerSession = 3;

/** Prepares a tenant: an agent that asks, a task, a chat connection. */
export async function furnish(
  tenant: StandTenant,
  urls: readonly string[],
  chat: SoakTenant["chat"],
): Promise<SoakTenant> {
  const asking = await tenant.call("POST", "/v1/agents", {
    name: "asks",
    model: "simulated/model",
    providerId: tenant.providerId,
    tools: ["write_todos"],
    approvalInChat: { default: "manual" },
  });
  const { task } = await tenant.call("POST", "/v1/tasks", {
    agentId: tenant.agentId,
    name: "soak",
    prompt: "[[sim: chunks=5 delayMs=10]]",
  });

  return { ...tenant, urls, askingAgentId: asking.id, taskId: task.id, chat };
}

/** Runs the clients of a tenant until the signal; their first steps are spread over a second. */
export async function work(tenant: SoakTenant, tally: Tally, signal: AbortSignal): Promise<void> {
  const clients: readonly [name: string, everyMs: number, step: () => Promise<void>][] = [
    ["conversations", 2_500, () => converse(tenant, tally)],
    ["joined turns", 5_000, () => joinLate(tenant, tally)],
    ["approvals", 10_000, () => approve(tenant, tally)],
    ["agents made and deleted", 60_000, () => passingAgent(tenant, tally)],
    ["task runs", 20_000, () => tenant.call("POST", `/v1/tasks/${tenant.taskId}/runs`, {})],
    ["chat messages", 20_000, () => tenant.chat(`said ${tally.counts.get("chat messages") ?? 0}`)],
    ["lists read", 5_000, () => read(tenant)],
  ];
  await Promise.all(
    clients.map(async ([name, everyMs, step]) => {
      await sleep(Math.random() * 1000);
      while (!signal.aborted) {
        const dueAt = performance.now() + everyMs;
        await step().then(
          () => tally.add(name),
          (error: unknown) => {
            tally.add(`${name}: faults`);
            if (tally.faults.length < faultsMax)
              tally.faults.push(`${new Date().toISOString()} ${name}: ${String(error).slice(0, 500)}`);
          },
        );
        await sleep(Math.max(0, dueAt - performance.now()), undefined, { signal }).catch(() => {});
      }
    }),
  );
}

/** Turns one after the other in a new session; every third session is deleted then. */
async function converse(tenant: SoakTenant, tally: Tally): Promise<void> {
  const agentPath = `/v1/agents/${tenant.agentId}/sessions`;
  const first = await play(tenant, agentPath, "[[sim: chunks=20 delayMs=10]]");
  expectText(first.reader, answer(20));
  const path = first.location;
  for (let n = 1; n < turnsPerSession; n++) {
    expectText((await play(tenant, path, "[[sim: chunks=20 delayMs=10]]")).reader, answer(20));
    tally.add("turns");
  }
  tally.add("turns");
  if (Math.random() > 1 / 3) return;
  await tenant.call("DELETE", `${path}?deleteArtifacts=true`);
  tally.add("sessions deleted");
}

/** A slow turn that two readers join late, at other HTTP processes: all three see the same. */
async function joinLate(tenant: SoakTenant, tally: Tally): Promise<void> {
  const { location } = await play(tenant, `/v1/agents/${tenant.agentId}/sessions`, "[[sim: chunks=2 delayMs=0]]");
  const response = await ask(tenant, "POST", location, bodyOf("[[sim: chunks=60 delayMs=40]]"));
  const own = new StreamReader(response);
  const late = async (afterMs: number) => {
    await sleep(afterMs);
    const joined = await ask(tenant, "GET", `${location}/stream`);
    if (joined.status !== 200) throw new Error(`a join: ${joined.status}`);
    return whole(new StreamReader(joined));
  };
  const [first, ...others] = await Promise.all([whole(own), late(500), late(1_500)]);
  expectText(first, answer(60));
  for (const other of others)
    if (JSON.stringify([other.ids, other.chunks]) !== JSON.stringify([first.ids, first.chunks]))
      throw new Error(`a late reader saw ${other.ids.length} events where the first saw ${first.ids.length}`);
  tally.add("turns");
}

/** A turn that stops to ask; the decision; what follows on it. */
async function approve(tenant: SoakTenant, tally: Tally): Promise<void> {
  const script = '[[sim: tool=write_todos args={"todos":[{"content":"tea","status":"pending"}]} ; text="Decided."]]';
  const { location, reader } = await play(tenant, `/v1/agents/${tenant.askingAgentId}/sessions`, script);
  if (!reader.types.includes("tool-approval-request")) throw new Error("the turn did not ask");
  const { approvals, continuation } = await tenant.call("GET", `${location}/tool-approvals`);
  await tenant.call("POST", `${location}/tool-approvals/${approvals[0].id}`, { approved: Math.random() < 0.75 });
  const joined = await ask(tenant, "GET", `${location}/tool-approval-continuations/${continuation.id}`);
  expectText(await whole(new StreamReader(joined)), "Decided.");
  tally.add("turns");
}

/** An agent with two sessions, deleted with them. */
async function passingAgent(tenant: SoakTenant, tally: Tally): Promise<void> {
  const { id } = await tenant.call("POST", "/v1/agents", {
    name: `passing ${Date.now()}`,
    model: "simulated/model",
    providerId: tenant.providerId,
  });
  for (let n = 0; n < 2; n++) {
    expectText((await play(tenant, `/v1/agents/${id}/sessions`, "[[sim: chunks=5 delayMs=0]]")).reader, answer(5));
    tally.add("turns");
  }
  await tenant.call("DELETE", `/v1/agents/${id}`);
}

async function read(tenant: SoakTenant): Promise<void> {
  const { data } = await tenant.call("GET", `/v1/agents/${tenant.agentId}/sessions?limit=20`);
  await tenant.call("GET", "/v1/usage?groupBy=day");
  await tenant.call("GET", `/v1/tasks/${tenant.taskId}/runs?limit=10`);
  const path = `/v1/agents/${tenant.agentId}/sessions/${data[0]?.id}/messages?limit=10`;
  // It may be deleted meanwhile.
  if (data.length > 0) await (await ask(tenant, "GET", path)).text();
}

/** Sends a message and reads the answer's stream to its end. */
async function play(
  tenant: SoakTenant,
  path: string,
  text: string,
): Promise<{ location: string; reader: StreamReader }> {
  const response = await ask(tenant, "POST", path, bodyOf(text));
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return { location: response.headers.get("location") ?? path, reader: await whole(new StreamReader(response)) };
}

const bodyOf = (text: string) => ({
  message: { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] },
});

let asked = 0;

function ask(tenant: SoakTenant, method: string, path: string, body?: object): Promise<Response> {
  asked += 1;
  const url = tenant.urls[asked % tenant.urls.length];
  return fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${tenant.apiKey}`, "content-type": "application/json" },
    signal: AbortSignal.timeout(patienceMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function whole(reader: StreamReader): Promise<StreamReader> {
  await reader.closed;
  if (!reader.finished) throw new Error("a stream broke off");
  return reader;
}

function expectText(reader: StreamReader, text: string): void {
  const said = reader.chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
  if (said !== text) throw new Error(`the answer is ${JSON.stringify(reader.chunks.slice(-3))}`);
}

const answer = (chunks: number) => Array.from({ length: chunks }, (_, index) => `chunk-${index + 1} `).join("");
