/** The limits of workspaces and of commands over them. Plain numbers, because the processes of commands read them too. */

/** A tenant has at most this many workspaces. */
export const workspacesPerTenantMax = 1_000;
/** The size limit of a file (docs/decisions/workspaces.md). */
export const fileBytesMax = 10 * 1024 * 1024;
/** The size limit of all files of a workspace together. */
export const workspaceBytesMax = 100 * 1024 * 1024;
/** The tools of one turn write at most this much, counting a file anew each time it is written. */
export const turnWrittenBytesMax = 512 * 1024 * 1024;
/** A workspace holds at most this many files, and beside them at most this many empty folders. */
export const workspaceFilesMax = 10_000;
/** The length limit of a path in bytes, so that it fits into its index. */
export const workspacePathBytesMax = 1024;
/** A workspace with more files than this is deleted by a job; the response is 202 at once. */
export const filesDeletedAtOnceMax = 200;
/** The same applies to a workspace whose files have more bytes than this. */
export const bytesDeletedAtOnceMax = 16 * 1024 * 1024;

/** Lists of a workspace's files that a worker reads, and searches by a pattern of their path, at once. */
export const fileListsMax = 4;
/** Of these, one tenant may have this many. */
export const fileListsPerTenantMax = 2;

/** A command may run this long; then it is ended (docs/decisions/workspaces.md). */
export const commandMs = 30_000;
/** A command of `POST /v1/workspaces/:workspaceId/commands` may be given this long, in seconds. */
export const commandSecondsMax = 300;
/** The length limit of what such a command reads from its standard input. */
export const commandStdinCharactersMax = 262_144;
/** The right to run programs in a workspace ends so long after it was renewed the last time. */
export const commandLeaseMs = 10_000;
/** A process has this long to begin with its command, on a busy machine. */
export const processStartMs = 60_000;
/** A process that has not stopped by itself this long after its time is killed. */
export const processGraceMs = 3_000;
/** CPU time after which the system ends a process whose worker has died, in seconds. */
export const processCpuSecondsMax = 120;
/** A command may use this much memory beyond what its process starts with. */
export const commandMemoryBytesMax = 256 * 1024 * 1024;
/** A process that uses this much memory is killed: one step of the interpreter may exceed the limit above for a short time. */
export const processMemoryBytesMax = 1024 * 1024 * 1024;
/** A process's memory is read this often. */
export const processMemoryCheckMs = 100;
/** Processes of commands and searches that a worker runs at once. */
export const processesMax = 4;
/** Of these, one tenant may have this many, so that endless commands of one tenant leave room for others. */
export const processesPerTenantMax = 2;
/** A tool call waits at most this long for a process. */
export const processWaitMs = 120_000;
/** The size limit of one message between a process and its worker: a whole workspace, and a list of it. */
export const frameBytesMax = 128 * 1024 * 1024;
/** Lists of workspaces' files that a process keeps, so that it reads only what is new for the next command: the limit of their files together. */
export const filesKnownMax = 50_000;
/** The limit of such lists. */
export const listsKnownMax = 1_000;
/** A command is run again at most this many times because other writers changed its files. */
export const rerunsMax = 5;
