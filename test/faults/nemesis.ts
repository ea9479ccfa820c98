import type { LinkedInstallation, Member } from "./installation.ts";
import { disturbances, type Link } from "./link.ts";
import type { Random } from "./random.ts";

/** Disturbs an installation, one fault after another, until `over` says so. Returns what it did, in words. */
export type Nemesis = (
  linked: LinkedInstallation,
  random: Random,
  over: () => boolean,
  log: (fault: string) => void,
) => Promise<void>;

const processFaults = { kill: 5, freeze: 3, terminate: 3 };

/** Kills, freezes and restarts processes of the service. */
export const troubleProcesses: Nemesis = async (linked, random, over, log) => {
  while (!over()) {
    const member = random.pick(linked.members);
    const fault = random.weighted(processFaults);
    const lastsMs = random.between(100, 5_000);
    const pauseMs = random.between(500, 3_000);
    log(`${fault} ${member.name} for ${lastsMs} ms`);
    await troubleProcess(member, fault, lastsMs);
    await pause(pauseMs);
  }
};

async function troubleProcess(member: Member, fault: keyof typeof processFaults, lastsMs: number): Promise<void> {
  if (fault === "freeze") {
    member.freeze();
    await pause(lastsMs);
    member.thaw();
    return;
  }
  await (fault === "kill" ? member.kill() : member.terminate());
  await pause(lastsMs);
  await member.start();
}

const storeFaults = {
  "restart Redis": 2,
  "freeze Redis": 2,
  "restart Postgres": 2,
  "crash Postgres": 2,
  "freeze Postgres": 2,
  "disturb a link to Postgres": 4,
  "disturb a link to Redis": 4,
};

/** Restarts, crashes and freezes the stores, and disturbs the ways to them. */
export const troubleStores: Nemesis = async (linked, random, over, log) => {
  while (!over()) {
    const fault = random.weighted(storeFaults);
    const member = random.pick(linked.members);
    const disturbance = random.pick(disturbances);
    const lastsMs = random.between(100, 4_000);
    const pauseMs = random.between(500, 3_000);
    const link = fault.startsWith("disturb");
    log(`${link ? `${disturbance} ${fault.slice(10)} of ${member.name}` : fault} for ${lastsMs} ms`);
    const disturb = async (way: Link) => {
      way[disturbance]();
      await pause(lastsMs);
      way.heal();
    };
    const acts: Record<keyof typeof storeFaults, () => Promise<void>> = {
      "restart Redis": () => linked.restartRedis(() => pause(lastsMs)),
      "freeze Redis": async () => {
        linked.freezeRedis();
        await pause(lastsMs);
        linked.thawRedis();
      },
      "restart Postgres": () => linked.postgres.restart(),
      "crash Postgres": () => linked.postgres.crash(),
      "freeze Postgres": async () => {
        await linked.postgres.freeze();
        await pause(lastsMs);
        await linked.postgres.thaw();
      },
      "disturb a link to Postgres": () => disturb(member.postgres),
      "disturb a link to Redis": () => disturb(member.redis),
    };
    await acts[fault]();
    await pause(pauseMs);
  }
};

/** The pace of the faults is part of the history, not a wait for something. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
