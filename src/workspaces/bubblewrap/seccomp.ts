/**
 * The filter of system calls that programs have (https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html),
 * as the classic BPF program that `bwrap --seccomp` takes. What it shuts is no use to a program without privileges,
 * and is where privileges have been won from kernels.
 */

/** Numbers of system calls by architecture; null where it has no such call. */
type Call = readonly [x64: number, arm64: number | null];

/** Calls that are refused as not permitted (EPERM). `test/workspaces/bubblewrap/` tries each. */
export const refusedCalls = {
  // Keys of the kernel are shared by all processes of a user, namespaces or not.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Programs for the kernel, and its counters.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  // Modules, other kernels, the machine.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  // Files by handle, past all mounts; others' files by watching whole mounts.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  // Mounts and namespaces.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  move_mount: [429, 429],
  open_tree: [428, 428],
  mount_setattr: [442, 442],
  statmount: [457, 457],
  listmount: [458, 458],
  open_tree_attr: [467, 467],
  unshare: [272, 97],
  setns: [308, 268],
  // Other processes' memory and files.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  // Memory that belongs to no process, so that no limit of ours would count it.
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
} as const satisfies Record<string, Call>;

/** Calls that look as if the kernel did not have them (ENOSYS), so that programs use older ones: `clone3` hides its flags in memory. */
export const missingCalls = {
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
} as const satisfies Record<string, Call>;

const socketCall: Call = [41, 198];
const cloneCall: Call = [56, 220];
const ioctlCall: Call = [16, 29];

/** Families of sockets: UNIX, IPv4, IPv6, netlink. None leads out, because the network is the sandbox's own. */
const socketFamilies = [1, 2, 10, 16];
/** All flags of `clone` that ask for a new namespace (`CLONE_NEW…`). */
const namespaceFlags = 0x7e020080;
/** `ioctl`s that type into a terminal: TIOCSTI and TIOCLINUX. */
const typingRequests = [0x5412, 0x541c];
/** Newer calls than those that were looked through do not exist, nor those of x32, whose numbers are larger still. */
const callsKnown = 470;

/** `AUDIT_ARCH_…` of the kernel's headers. */
const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

/** The architectures of the processor that the filter is made for. */
export type FilteredArchitecture = keyof typeof architectures;

/** Returns whether there is a filter for a processor (`process.arch`). */
export function isFiltered(architecture: string): architecture is FilteredArchitecture {
  return Object.hasOwn(architectures, architecture);
}

const load = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAnyBit = 0x45;
const end = 0x06;

const allow = 0x7fff0000;
const killProcess = 0x80000000;
const refuse = 0x00050000;
const notPermitted = refuse | 1;
const noSuchCall = refuse | 38;
const noSuchFamily = refuse | 97;

/** Where `struct seccomp_data` has the call's number, the architecture, and the low halves of the first two arguments. */
const numberAt = 0;
const architectureAt = 4;
const firstAt = 16;
const secondAt = 24;

/** One instruction: what, where to go on (how many to skip) when it holds and when not, and its number. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Returns the filter for an architecture, as the bytes of its instructions. */
export function seccompFilter(architecture: FilteredArchitecture): Uint8Array {
  const place = architecture === "x64" ? 0 : 1;
  const numbersOf = (calls: Readonly<Record<string, Call>>) =>
    Object.values(calls).flatMap((call) => (call[place] === null ? [] : [call[place]]));
  const when = (number: number, result: number): Instruction[] => [
    [jumpIfEqual, 0, 1, number],
    [end, 0, 0, result],
  ];
  const argumentRules = (call: Call, rules: readonly Instruction[]): Instruction[] => [
    [jumpIfEqual, 0, rules.length, call[place] ?? 0],
    ...rules,
  ];
  const program: Instruction[] = [
    [load, 0, 0, architectureAt],
    [jumpIfEqual, 1, 0, architectures[architecture]],
    [end, 0, 0, killProcess],
    [load, 0, 0, numberAt],
    [jumpIfAtLeast, 0, 1, callsKnown],
    [end, 0, 0, noSuchCall],
    ...numbersOf(missingCalls).flatMap((number) => when(number, noSuchCall)),
    ...numbersOf(refusedCalls).flatMap((number) => when(number, notPermitted)),
    ...argumentRules(cloneCall, [
      [load, 0, 0, firstAt],
      [jumpIfAnyBit, 0, 1, namespaceFlags],
      [end, 0, 0, notPermitted],
      [end, 0, 0, allow],
    ]),
    ...argumentRules(socketCall, [
      [load, 0, 0, firstAt],
      ...socketFamilies.flatMap((family) => when(family, allow)),
      [end, 0, 0, noSuchFamily],
    ]),
    ...argumentRules(ioctlCall, [
      [load, 0, 0, secondAt],
      ...typingRequests.flatMap((request) => when(request, notPermitted)),
      [end, 0, 0, allow],
    ]),
    [end, 0, 0, allow],
  ];
  return encode(program);
}

const instructionBytes = 8;

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * instructionBytes);
  const view = new DataView(bytes.buffer);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    const at = index * instructionBytes;
    view.setUint16(at, code, true);
    view.setUint8(at + 2, ifTrue);
    view.setUint8(at + 3, ifFalse);
    view.setUint32(at + 4, value >>> 0, true);
  }
  return bytes;
}
