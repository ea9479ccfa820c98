import type { SystemCalls } from "../../kernel/runtime.ts";

/**
 * Landlock, with which a process on Linux gives up rights for itself and all that it
 * starts (https://docs.kernel.org/userspace-api/landlock.html). It needs no privileges.
 */

/** System calls; the same numbers on every architecture. */
const createRuleset = 444n;
const addRule = 445n;
const restrictSelf = 446n;
/** Asks `createRuleset` for the version of the interface. */
const askVersion = 1n;
/** Kind of rule: what is below a folder, or one file. */
const pathBeneath = 1n;
/** `prctl`: no program that is started from here on gets more rights. Landlock demands it. */
const setNoNewPrivileges = 38;
/** `open`: only names the path, and is closed when another program is started. */
const namePath = 0o10000000 | 0o2000000;

const executeFile = 1n << 0n;
const readFile = 1n << 2n;
const readFolder = 1n << 3n;
/** How many rights to files each version knows, from version 1 on; a later one knows at least as many as the last. */
const fileRightsByVersion = [13, 14, 15, 15, 16];
/** Version 4 knows the rights to listen and to connect with TCP; version 6 those to signal and to reach others' abstract sockets. */
const networkVersion = 4;
const scopeVersion = 6;
const twoRights = 3n;

/** What a confined process may still do with files. */
export interface FileRights {
  readonly readable: readonly string[];
  /** Folders whose names it may list, with those of the folders below. */
  readonly listable: readonly string[];
  /** Programs that it may start, with the libraries that they load. */
  readonly executable: readonly string[];
}

/**
 * Takes from this thread, and from what it starts, all rights to files but `rights`, to
 * the network by TCP, and to signal processes outside, as far as the kernel knows them.
 * A path that does not exist is left out. Returns whether it did: not where the kernel
 * lacks Landlock or does not permit it.
 */
export function confineBy(calls: SystemCalls, { readable, listable, executable }: FileRights): boolean {
  const version = Number(calls.syscall(createRuleset, 0n, 0n, askVersion, 0n));
  if (version < 1) return false;
  const fileRights = fileRightsByVersion[Math.min(version, fileRightsByVersion.length) - 1] ?? 0;
  const handled = new Uint8Array(24);
  const fields = new DataView(handled.buffer);
  fields.setBigUint64(0, (1n << BigInt(fileRights)) - 1n, true);
  fields.setBigUint64(8, version >= networkVersion ? twoRights : 0n, true);
  fields.setBigUint64(16, version >= scopeVersion ? twoRights : 0n, true);
  const size = version >= scopeVersion ? 24n : version >= networkVersion ? 16n : 8n;
  const ruleset = calls.syscall(createRuleset, calls.addressOf(handled), size, 0n, 0n);
  if (ruleset < 0n) return false;
  const allow = (path: string, rights: bigint) => {
    const folder = calls.open(path, namePath);
    if (folder < 0) return;
    const rule = new Uint8Array(12);
    const ruleFields = new DataView(rule.buffer);
    ruleFields.setBigUint64(0, rights, true);
    ruleFields.setInt32(8, folder, true);
    // For a file, a right that only a folder has is refused with the whole rule.
    if (calls.syscall(addRule, ruleset, pathBeneath, calls.addressOf(rule), 0n) === 0n) return;
    ruleFields.setBigUint64(0, rights & ~readFolder, true);
    calls.syscall(addRule, ruleset, pathBeneath, calls.addressOf(rule), 0n);
  };
  for (const path of listable) allow(path, readFolder);
  for (const path of readable) allow(path, readFile | readFolder);
  for (const path of executable) allow(path, readFile | readFolder | executeFile);
  if (calls.prctl(setNoNewPrivileges, 1n, 0n, 0n, 0n) !== 0) return false;
  return calls.syscall(restrictSelf, ruleset, 0n, 0n, 0n) === 0n;
}
