import { readFileSync } from "node:fs";
import { SubordinateUsers } from "./subordinate-users.ts";

/** The users of the system that programs run as, another one for each workspace's folder. */
export interface ProgramUsers {
  /** What the start says of them. */
  readonly said: string;
  /** Words that make a program one that may become another user; none where this process may. */
  enter(): readonly string[];
  /** Returns the next user; null where programs have this process's. */
  next(): number | null;
  close(): void;
}

/** Users with numbers from `first` on. */
interface Range {
  readonly first: number;
  readonly count: number;
}

/** Numbers that systemd's table of users leaves free (https://systemd.io/UIDS-GIDS/). */
const preferred: Range = { first: 0x70000000, count: 0x0f000000 };
/** What a user namespace of 65,536 users has left below its last ones. */
const fallback: Range = { first: 50_000, count: 10_000 };
/** `CAP_SETGID` and `CAP_SETUID`. */
const capabilities = (1n << 6n) | (1n << 7n);

/**
 * Finds what this process may do about users. Root (also of a user namespace that has more users than one) gives
 * programs numbers that no user of the system has; an ordinary user those that `/etc/subuid` gives it, with the
 * programs of Debian's `uidmap`. Otherwise programs have this process's user, in a separate namespace.
 */
export async function findUsers(): Promise<ProgramUsers> {
  const own = maySetUsers() ? [preferred, fallback].find((range) => isMapped(range, readMaps("self"))) : undefined;
  if (own !== undefined) return takingFrom(own, "users of their own", { enter: () => [], close: () => {} });
  const subordinate = await SubordinateUsers.start();
  if (subordinate !== null && isMapped(fallback, readMaps(subordinate.pid))) {
    return takingFrom(fallback, "subordinate users of this process's user", {
      enter: () => subordinate.enter(),
      close: () => subordinate.end(),
    });
  }
  subordinate?.end();
  const said = "this process's user, in a namespace of their own (the package uidmap and /etc/subuid give them others)";
  return { said, enter: () => [], next: () => null, close: () => {} };
}

function takingFrom({ first, count }: Range, said: string, rest: Pick<ProgramUsers, "enter" | "close">): ProgramUsers {
  // Several processes of one host begin at different places.
  let place = (process.pid * 4_099) % count;
  const next = () => {
    place = (place + 1) % count;
    return first + place;
  };
  return { said, next, ...rest };
}

function maySetUsers(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return effective !== undefined && (BigInt(`0x${effective}`) & capabilities) === capabilities;
}

/** Returns the users and groups of a process's user namespace. */
function readMaps(pid: number | "self"): string[] {
  return ["uid_map", "gid_map"].map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8"));
}

/** Returns whether a user namespace has all users and groups of a range. */
function isMapped({ first, count }: Range, maps: readonly string[]): boolean {
  return maps.every((map) =>
    map
      .trim()
      .split("\n")
      .some((line) => {
        const [start = 0, , length = 0] = line.trim().split(/\s+/).map(Number);
        return start <= first && first + count <= start + length;
      }),
  );
}
