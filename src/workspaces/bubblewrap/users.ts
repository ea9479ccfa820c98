import { readFileSync } from "node:fs";

/**
 * The users of the system that programs run as. A process that may change its user (root, or root of a user
 * namespace that has more users than one) gives each workspace's folder another number, which no user has on a
 * usual system. Any other process has its own user alone: programs then have that one, in a separate namespace.
 */
export interface ProgramUsers {
  /** Whether programs run as others than this process's user. */
  readonly areOthers: boolean;
  /** Returns the next user; null where programs have this process's. */
  next(): number | null;
}

/** Numbers that systemd's table of users leaves free (https://systemd.io/UIDS-GIDS/). */
const preferred = { first: 0x70000000, count: 0x0f000000 };
/** What a user namespace of 65,536 users has left below its last ones. */
const fallback = { first: 50_000, count: 10_000 };
/** `CAP_SETGID` and `CAP_SETUID`. */
const capabilities = (1n << 6n) | (1n << 7n);

/** Finds what this process may do about users. */
export function findUsers(): ProgramUsers {
  const range = maySetUsers() ? [preferred, fallback].find(isMapped) : undefined;
  if (range === undefined) return { areOthers: false, next: () => null };
  // Several processes of one host begin at different places.
  let place = (process.pid * 4_099) % range.count;
  return {
    areOthers: true,
    next: () => {
      place = (place + 1) % range.count;
      return range.first + place;
    },
  };
}

function maySetUsers(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return effective !== undefined && (BigInt(`0x${effective}`) & capabilities) === capabilities;
}

/** Returns whether this process's user namespace has all users and groups of a range. */
function isMapped({ first, count }: typeof preferred): boolean {
  return ["uid_map", "gid_map"].every((file) =>
    readFileSync(`/proc/self/${file}`, "utf8")
      .trim()
      .split("\n")
      .some((line) => {
        const [start = 0, , length = 0] = line.trim().split(/\s+/).map(Number);
        return start <= first && first + count <= start + length;
      }),
  );
}
