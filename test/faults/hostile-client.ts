import { type HostileAct, hostileActs } from "./hostile-servers.ts";
import type { Random } from "./random.ts";

/** A tenant that means harm, and what all its clients share. */
export interface HostileTenant {
  readonly tenantId: string;
  readonly token: string;
  /** Stands in everything that it says, and in nothing else. */
  readonly marker: string;
  readonly urls: readonly string[];
  readonly mcpUrl: string;
  /** What its agents are made of. */
  readonly agent: Readonly<Record<string, unknown>>;
  /** The first stays, and has an MCP server that does not respond. */
  readonly agents: string[];
  readonly sessions: { readonly id: string; readonly agentId: string }[];
  /** It asks for so many turns more at most. */
  turnsLeft: number;
  readonly responses: HostileResponse[];
}

/** A response that a hostile client got. */
export interface HostileResponse {
  readonly what: string;
  readonly status: number;
  /** As much of it as it read. */
  readonly text: string;
}

interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly key?: string;
  /** It goes away once it has the headers. */
  readonly leaves?: boolean;
}

const actWeights = {
  flood: 20,
  model: 24,
  connect: 8,
  large: 8,
  storm: 10,
  approvals: 10,
  reads: 10,
  leave: 6,
};

/** A client waits for no response longer than this. */
const patienceMs = 6_000;
/** It reads at most about so much of a response. */
const readBytesMax = 64 * 1024;
/** What a flood's turns do: were it mostly silence, few of them would ever run. */
const floodActs: readonly HostileAct[] = ["slow", "slow", "half", "huge", "hang"];
/** Turns that one flood asks for. */
const floodTurns = 8;
/** Requests that are made at once where they are made in parallel. */
const parallelRequests = 12;
/** A large text, which is taken, and one that is not. */
const largeCharacters = [200_000, 12 * 1024 * 1024];
/** A body of more values than are taken. */
const manyValues = 150_000;
/** A storm takes so many sessions. */
const stormSessions = 6;

/** One client of a hostile tenant: it does what its seed says, and waits for nobody long. */
export class HostileClient {
  readonly #tenant: HostileTenant;
  readonly #random: Random;
  readonly #servers: Random;
  readonly #name: string;
  #acts = 0;

  constructor(tenant: HostileTenant, name: string, random: Random, servers: Random) {
    this.#tenant = tenant;
    this.#name = name;
    this.#random = random;
    this.#servers = servers;
  }

  /** Goes on until `over` says so. */
  async run(over: () => boolean): Promise<void> {
    const acts: Record<keyof typeof actWeights, () => Promise<unknown>> = {
      flood: () => this.flood(floodTurns, this.#random.pick(floodActs)),
      model: () => this.#turn(this.#random.pick(hostileActs), { stream: this.#random.chance(0.5) }),
      connect: () => this.#connect(),
      large: () => this.#large(),
      storm: () => this.#storm(),
      approvals: () => this.#decideAtOnce(),
      reads: () => this.#reads(),
      leave: () => this.#leave(),
    };
    while (!over()) {
      this.#acts += 1;
      const pauseMs = this.#random.between(0, 400);
      await acts[this.#random.weighted(actWeights)]();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Asks for turns in new sessions at once, and stays for none of them. */
  async flood(turns: number, act: HostileAct): Promise<void> {
    await Promise.all(Array.from({ length: turns }, () => this.#turn(act, { stream: true, leaves: true })));
  }

  /** Asks for a turn in a new session, or now and then for a stateless one. Returns the session. */
  async #turn(
    act: HostileAct,
    options: { stream: boolean; leaves?: boolean; text?: string },
  ): Promise<HostileTenant["sessions"][number] | null> {
    const agentId = this.#random.pick(this.#tenant.agents);
    const isStateless = this.#random.chance(0.1);
    if (this.#tenant.turnsLeft < 1) return null;
    this.#tenant.turnsLeft -= 1;
    const text = `${this.#tenant.marker} ${options.text ?? ""} [[bad: ${act}]]`;
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    const { stream, leaves = false } = options;
    const body = isStateless ? { messages: [message], stream } : { message, stream };
    const path = `/v1/agents/${agentId}/${isStateless ? "generate" : "sessions"}`;
    const location = await this.#send({ method: "POST", path, body, leaves });
    const id = location?.split("/").at(-1);
    if (id === undefined) return null;
    const session = { id, agentId };
    this.#tenant.sessions.push(session);
    return session;
  }

  /** Several requests of one key connect the same server, which does not respond. */
  async #connect(): Promise<void> {
    const key = `${this.#name}-${this.#acts}`;
    const body = { name: key, url: this.#tenant.mcpUrl, authType: "none" };
    const requests = Array.from({ length: 4 }, () =>
      this.#send({ method: "POST", path: "/v1/mcp-connections", body, key }),
    );
    await Promise.all(requests);
  }

  async #large(): Promise<void> {
    const text = "large ".repeat(this.#random.pick(largeCharacters) / 6);
    await this.#turn("slow", { stream: true, leaves: true, text });
    const path = `/v1/agents/${this.#random.pick(this.#tenant.agents)}/sessions`;
    const metadata = { values: Array(manyValues).fill(1) };
    await Promise.all([1, 2].map(() => this.#send({ method: "POST", path, body: { metadata } })));
  }

  /** Cancels and deletes its sessions at once, and now and then an agent with all it has. */
  async #storm(): Promise<void> {
    const { agents, sessions } = this.#tenant;
    const taken = sessions.splice(0, stormSessions);
    if (this.#random.chance(0.3)) {
      const made = await this.#makeAgent();
      const [gone] = made === null ? [] : agents.splice(1, 1);
      if (made !== null) agents.push(made);
      if (gone !== undefined) await this.#send({ method: "DELETE", path: `/v1/agents/${gone}` });
    }
    const storm = taken.flatMap((session) => [
      this.#send({ method: "POST", path: `${pathOf(session)}/cancel` }),
      this.#send({ method: "DELETE", path: `${pathOf(session)}?deleteArtifacts=true` }),
    ]);
    await Promise.all(storm);
    const again = taken.map((session) => ({ method: "DELETE", path: `${pathOf(session)}?deleteArtifacts=false` }));
    await Promise.all(again.map((request) => this.#send(request)));
  }

  async #makeAgent(): Promise<string | null> {
    const response = await this.#request({
      method: "POST",
      path: "/v1/agents",
      body: { ...this.#tenant.agent, name: `${this.#name}-${this.#acts}` },
    });
    return response?.status === 201 ? (JSON.parse(response.text) as { id: string }).id : null;
  }

  /** Decides what a turn asks several times at once, this way and that way. */
  async #decideAtOnce(): Promise<void> {
    const session = await this.#turn("asks", { stream: true });
    if (session === null) return;
    const path = `${pathOf(session)}/tool-approvals`;
    const listed = await this.#request({ method: "GET", path });
    if (listed?.status !== 200) return;
    const { approvals } = JSON.parse(listed.text) as { approvals: { id: string }[] };
    const decisions = approvals.flatMap(({ id }) => [true, false, true, false].map((approved) => ({ id, approved })));
    await Promise.all(
      decisions.map(({ id, approved }) => this.#send({ method: "POST", path: `${path}/${id}`, body: { approved } })),
    );
  }

  async #reads(): Promise<void> {
    const some = this.#tenant.sessions.slice(-parallelRequests).map((session) => `${pathOf(session)}/messages`);
    const agentId = this.#random.pick(this.#tenant.agents);
    const paths = ["/v1/usage", "/v1/agents", "/v1/audit-events", `/v1/agents/${agentId}/sessions`, ...some];
    await Promise.all([...paths, "/v1/usage", "/v1/usage"].map((path) => this.#send({ method: "GET", path })));
  }

  async #leave(): Promise<void> {
    const some = this.#tenant.sessions.slice(-parallelRequests);
    await Promise.all(
      some.map((session) => this.#send({ method: "GET", path: `${pathOf(session)}/stream`, leaves: true })),
    );
  }

  /** Returns the `Location` of the response, if there is any. */
  async #send(request: HostileRequest): Promise<string | null> {
    return (await this.#request(request))?.location ?? null;
  }

  /** Never rejects: null when there was no response. */
  async #request(request: HostileRequest): Promise<{ status: number; text: string; location: string | null } | null> {
    const { method, path, body, key } = request;
    try {
      const response = await fetch(`${this.#servers.pick(this.#tenant.urls)}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#tenant.token}`,
          "content-type": "application/json",
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(patienceMs),
        keepalive: false,
      });
      const { status } = response;
      const text = await readSome(response, request.leaves === true);
      this.#tenant.responses.push({ what: `${method} ${path}`, status, text });
      return { status, text, location: response.headers.get("location") };
    } catch {
      return null;
    }
  }
}

function pathOf({ id, agentId }: HostileTenant["sessions"][number]): string {
  return `/v1/agents/${agentId}/sessions/${id}`;
}

/** Reads a response as far as a hostile client does; one that is cut counts as far as it came. */
async function readSome(response: Response, leaves: boolean): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (reader !== undefined && !leaves && text.length < readBytesMax) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return text;
  }
  await reader?.cancel().catch(() => {});
  return text;
}
