import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { type Installation, startInstallation } from "../harness/processes.ts";
import { type RedisServer, startRedis } from "../harness/redis.ts";
import type { ServiceProcess } from "../harness/service-process.ts";
import { type Link, openLink } from "./link.ts";

/** A place of a supervised process: it is started again whenever a fault has ended it. */
export interface Member {
  readonly name: string;
  readonly role: "serve" | "work";
  /** Of an HTTP process, the same after each start. */
  readonly url: string;
  /** Its ways to the stores, which nobody else uses. */
  readonly postgres: Link;
  readonly redis: Link;
  readonly process: ServiceProcess;
  start(): Promise<void>;
  /** `kill -9`, and waits for the end. */
  kill(): Promise<void>;
  /** SIGTERM, and waits for the end, which must be exit code 0. */
  terminate(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

/** An installation on a Postgres and a Redis of its own, with a link between each process and each store. */
export interface LinkedInstallation extends AsyncDisposable {
  readonly installation: Installation;
  readonly postgres: TestPostgres;
  /** Where Redis is, without a link. */
  readonly redisUrl: string;
  /** Ends Redis with all it holds, and starts it again, empty, when `meanwhile` is done. */
  restartRedis(meanwhile: () => Promise<void>): Promise<void>;
  freezeRedis(): void;
  thawRedis(): void;
  readonly members: readonly Member[];
  /** What processes have done so far that they must not do, whatever happens to them. */
  misdeeds(): readonly string[];
  /** Ends every fault and waits until all processes are up. */
  heal(): Promise<void>;
}

/** A stopping process lets what runs finish for so long. */
const drainSeconds = 3;
/** And ends within this on a busy machine. */
const terminateMs = 40_000;
/** A supervisor gives up on a process that does not start for so long. */
const startMs = 120_000;

export async function openLinkedInstallation({
  serve,
  work,
  env = {},
}: {
  serve: number;
  work: number;
  /** More than every process is told. */
  env?: Readonly<Record<string, string>>;
}): Promise<LinkedInstallation> {
  const postgres = await startPostgres();
  let redis: RedisServer = await startRedis();
  const installation = await startInstallation({ databaseUrl: postgres.url, redisUrl: redis.url });
  const misdeeds: string[] = [];
  const roles = [...Array<"serve">(serve).fill("serve"), ...Array<"work">(work).fill("work")];
  const members: Supervised[] = [];
  for (const [index, role] of roles.entries()) {
    members.push(
      await Supervised.place(`${role}-${index + 1}`, role, installation, { redisUrl: redis.url, env, misdeeds }),
    );
  }
  await Promise.all(members.map((member) => member.start()));
  return {
    installation,
    postgres,
    redisUrl: redis.url,
    members,
    misdeeds: () => [...misdeeds, ...members.flatMap((member) => member.said)],
    restartRedis: async (meanwhile) => {
      await redis.stop();
      await meanwhile();
      redis = await startRedis(redis.port);
    },
    freezeRedis: () => void redis.process.kill("SIGSTOP"),
    thawRedis: () => void redis.process.kill("SIGCONT"),
    heal: async () => {
      redis.process.kill("SIGCONT");
      await postgres.thaw();
      for (const member of members) {
        member.postgres.heal();
        member.redis.heal();
        member.thaw();
      }
      await Promise.all(members.map((member) => member.start()));
    },
    [Symbol.asyncDispose]: async () => {
      await postgres.thaw().catch(() => {});
      for (const member of members) member.leave();
      await installation[Symbol.asyncDispose]();
      for (const member of members) await member.unlink();
      await redis.stop();
      await postgres[Symbol.asyncDispose]();
    },
  };
}

/** What all members share. */
interface Surroundings {
  readonly redisUrl: string;
  readonly env: Readonly<Record<string, string>>;
  readonly misdeeds: string[];
}

class Supervised implements Member {
  readonly name: string;
  readonly role: "serve" | "work";
  readonly url: string;
  readonly postgres: Link;
  readonly redis: Link;
  readonly #installation: Installation;
  readonly #env: Record<string, string>;
  readonly #misdeeds: string[];
  #process: ServiceProcess | null = null;
  #starting: Promise<void> | null = null;
  #endExpected = false;
  #left = false;

  private constructor(
    name: string,
    role: "serve" | "work",
    { postgres, redis }: { postgres: Link; redis: Link },
    port: number,
    installation: Installation,
    { env, misdeeds }: Surroundings,
  ) {
    this.name = name;
    this.role = role;
    this.postgres = postgres;
    this.redis = redis;
    this.url = `http://127.0.0.1:${port}`;
    this.#installation = installation;
    this.#misdeeds = misdeeds;
    this.#env = {
      ...env,
      DATABASE_URL: atPort(installation.databaseUrl, postgres.port),
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      DRAIN_SECONDS: String(drainSeconds),
      LOG_LEVEL: "info",
      ...(role === "serve" ? { PORT: String(port) } : {}),
    };
  }

  static async place(
    name: string,
    role: "serve" | "work",
    installation: Installation,
    around: Surroundings,
  ): Promise<Supervised> {
    const links = {
      postgres: await openLink(Number(new URL(installation.databaseUrl).port)),
      redis: await openLink(Number(new URL(around.redisUrl).port)),
    };
    return new Supervised(name, role, links, await freePort(), installation, around);
  }

  get process(): ServiceProcess {
    if (this.#process === null) throw new Error(`${this.name} was never started.`);
    return this.#process;
  }

  start(): Promise<void> {
    if (this.#process !== null && !this.#endExpected) return Promise.resolve();
    this.#starting ??= this.#startUntilItLives().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  /** As a supervisor does: a process that cannot start, because a store is away, is started again. */
  async #startUntilItLives(): Promise<void> {
    await eventually(async () => {
      if (this.#left) return true;
      try {
        const started = await this.#installation[this.role](this.#env);
        this.#process = started;
        this.#endExpected = false;
        void started.exited.then((end) => this.#ended(started, end));
        return true;
      } catch {
        return false;
      }
    }, startMs);
  }

  #ended(process: ServiceProcess, { code, signal }: { code: number | null; signal: string | null }): void {
    this.#misdeeds.push(...unforeseenIn(this.name, process));
    if (this.#endExpected || this.#left) return;
    this.#misdeeds.push(
      `${this.name} ended by itself with ${code ?? signal}: ${process.noise.join(" | ").slice(-2_000)}`,
    );
    this.#endExpected = true;
  }

  /** What the running process' log says that it must never say. */
  get said(): string[] {
    return this.#process === null || this.#endExpected ? [] : unforeseenIn(this.name, this.#process);
  }

  async kill(): Promise<void> {
    await this.#starting;
    this.#endExpected = true;
    await this.process.kill();
  }

  async terminate(): Promise<void> {
    await this.#starting;
    this.#endExpected = true;
    const { process } = this;
    process.signal("SIGTERM");
    const end = await eventually(() => Promise.race([process.exited, Promise.resolve(null)]), terminateMs).catch(
      () => null,
    );
    if (end === null) {
      this.#misdeeds.push(`${this.name} did not end within ${terminateMs} ms of SIGTERM`);
      await process.kill();
    } else if (end.code !== 0) {
      const said = process.noise.join(" | ").slice(-2_000);
      this.#misdeeds.push(`${this.name} ended SIGTERM with ${end.code ?? end.signal}: ${said}`);
    }
  }

  freeze(): void {
    this.process.signal("SIGSTOP");
  }

  thaw(): void {
    this.#process?.signal("SIGCONT");
  }

  /** From now on nobody starts it again or waits for its end. */
  leave(): void {
    this.#left = true;
  }

  async unlink(): Promise<void> {
    await this.postgres[Symbol.asyncDispose]();
    await this.redis[Symbol.asyncDispose]();
  }
}

function unforeseenIn(name: string, { log }: ServiceProcess): string[] {
  const lines = log.filter(({ msg }) => /unforeseen/.test(msg));
  return lines.map((line) => `${name}: ${JSON.stringify(line).slice(0, 2_000)}`);
}

/** The same address at another port. */
function atPort(url: string, port: number): string {
  const moved = new URL(url);
  moved.port = String(port);
  return moved.href;
}
