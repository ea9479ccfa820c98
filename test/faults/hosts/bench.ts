import { migrate } from "../../../src/kernel/database/migrate.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { cloneDatabase } from "../../harness/harness.ts";
import { type Host, type Hosts, openHosts } from "../../harness/hosts.ts";
import { type PostgresPair, startPostgresPair } from "../../harness/postgres-pair.ts";
import { type Client, type Installation, startInstallation } from "../../harness/processes.ts";
import { type RedisServer, reachedAt, startRedis } from "../../harness/redis.ts";
import { type RedisGroup, startCluster, startSentinels } from "../../harness/redis-groups.ts";
import { logged, type ServeProcess, type ServiceProcess, type WorkProcess } from "../../harness/service-process.ts";
import { type Link, openLink } from "../link.ts";

/** A process of the installation on a host of its own. */
export interface Member {
  readonly name: string;
  readonly role: "serve" | "work";
  readonly host: Host;
  /** Its own ways to the stores; it has none where it reaches a store directly. */
  readonly links: { readonly postgres?: Link; readonly redis?: Link };
  readonly process: ServeProcess | WorkProcess;
  /** Starts it again at the same address, once it has ended. */
  start(): Promise<void>;
}

/** Where the stores are, and which. A linked one is reached over a link of each process. */
interface BenchOptions {
  readonly serve: number;
  readonly work: number;
  readonly database?: "linked" | "pair" | "synchronous pair";
  readonly redis?: "linked" | "direct" | "sentinels" | "cluster";
  /** What answers of linked stores take longer, in milliseconds. */
  readonly delayMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** More for one of them. */
  readonly envOf?: Readonly<Record<string, Record<string, string>>>;
}

/** An installation over several hosts: each process has one, and the stores are on the machine between them. */
export interface Bench extends AsyncDisposable {
  readonly hosts: Hosts;
  readonly installation: Installation;
  readonly members: readonly Member[];
  readonly serves: readonly Member[];
  readonly works: readonly Member[];
  /** A tenant at the first HTTP process. */
  readonly c: Client;
  readonly pair: PostgresPair | null;
  readonly group: RedisGroup | null;
  /** Ends the only Redis with all it holds, and starts it again, empty, when `meanwhile` is done. */
  restartRedis(meanwhile: () => Promise<void>): Promise<void>;
  readonly redis: RedisServer | null;
  /** Lines of any log that no process may ever write. */
  unforeseen(): readonly string[];
}

/** Every HTTP process is at this port of its host. */
export const servePort = 8_080;

/** Starts an installation. */
export async function openBench(options: BenchOptions): Promise<Bench> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(options, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function open(options: BenchOptions, opened: AsyncDisposableStack): Promise<Bench> {
  const hosts = opened.use(openHosts());
  const { database = "linked", redis: kind = "linked" } = options;
  const pair =
    database === "linked"
      ? null
      : opened.use(await startPostgresPair({ address: hosts.gateway, synchronous: database === "synchronous pair" }));
  const databaseUrl = pair?.url ?? (await cloneDatabase());
  if (pair !== null) await migrate(databaseUrl, createLogger("silent"));
  const group = await (kind === "sentinels"
    ? startSentinels(hosts.gateway)
    : kind === "cluster"
      ? startCluster(hosts.gateway)
      : null);
  if (group !== null) opened.defer(() => group.stop());
  const startOne = (port?: number) => startRedis(port, reachedAt(hosts.gateway));
  let redis = group === null ? await startOne() : null;
  opened.defer(async () => redis?.stop());
  const redisUrl = group?.url ?? `redis://${hosts.gateway}:${redis?.port}`;
  const installation = opened.use(await startInstallation({ databaseUrl, redisUrl, modelAddress: hosts.gateway }));
  const link = async (port: number) => {
    const made = opened.use(await openLink(port, hosts.gateway));
    made.delay(options.delayMs ?? 0);
    return made;
  };
  const members: Placed[] = [];
  const place = async (role: "serve" | "work", number: number) => {
    const name = `${role}-${number}`;
    const links = {
      ...(pair === null ? { postgres: await link(Number(new URL(databaseUrl).port)) } : {}),
      ...(kind === "linked" && redis !== null ? { redis: await link(redis.port) } : {}),
    };
    const env = { ...options.env, ...options.envOf?.[name] };
    members.push(new Placed({ name, role, host: hosts.add(name), links, installation, gateway: hosts.gateway, env }));
  };
  for (let n = 1; n <= options.serve; n++) await place("serve", n);
  for (let n = 1; n <= options.work; n++) await place("work", n);
  await Promise.all(members.map((member) => member.start()));
  const serves = members.filter(({ role }) => role === "serve");
  const [first] = serves;
  if (first === undefined) throw new Error("An installation needs an HTTP process.");
  const c = await installation.client((first.process as ServeProcess).url);
  return {
    hosts,
    installation,
    members,
    serves,
    works: members.filter(({ role }) => role === "work"),
    c,
    pair,
    group,
    get redis() {
      return redis;
    },
    restartRedis: async (meanwhile) => {
      const port = redis?.port;
      await redis?.stop();
      await meanwhile();
      redis = await startOne(port);
    },
    unforeseen: () =>
      members.flatMap(({ process }) =>
        process.log.filter(({ msg }) => /unforeseen/.test(msg)).map((line) => JSON.stringify(line).slice(0, 1_000)),
      ),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Place {
  readonly name: string;
  readonly role: "serve" | "work";
  readonly host: Host;
  readonly links: Member["links"];
  readonly installation: Installation;
  readonly gateway: string;
  readonly env: Readonly<Record<string, string>>;
}

class Placed implements Member {
  readonly name: string;
  readonly role: "serve" | "work";
  readonly host: Host;
  readonly links: Member["links"];
  readonly #place: Place;
  #process: ServeProcess | WorkProcess | null = null;

  constructor(place: Place) {
    this.name = place.name;
    this.role = place.role;
    this.host = place.host;
    this.links = place.links;
    this.#place = place;
  }

  get process(): ServeProcess | WorkProcess {
    if (this.#process === null) throw new Error(`${this.name} was not started.`);
    return this.#process;
  }

  async start(): Promise<void> {
    const { installation, gateway, env } = this.#place;
    const { postgres, redis } = this.links;
    const all = {
      ...(postgres === undefined ? {} : { DATABASE_URL: movedTo(installation.databaseUrl, gateway, postgres.port) }),
      ...(redis === undefined ? {} : { REDIS_URL: `redis://${gateway}:${redis.port}` }),
      ...(this.role === "serve"
        ? { PORT: String(servePort), PUBLIC_URL: `http://${this.host.address}:${servePort}` }
        : {}),
      LOG_LEVEL: "info",
      ...env,
    };
    this.#process = await installation[this.role](all, this.host);
  }
}

/** Where an HTTP process is, as others reach it. */
export function addressOf(member: Member): string {
  return `${member.host.address}:${servePort}`;
}

/** SIGTERM, and waits for its end. Returns the exit status. */
export async function ended(process: ServiceProcess): Promise<number | null> {
  process.signal("SIGTERM");
  await logged(process, "stopping");
  return (await process.exited).code;
}

function movedTo(url: string, host: string, port: number): string {
  const moved = new URL(url);
  moved.hostname = host;
  moved.port = String(port);
  return moved.href;
}
