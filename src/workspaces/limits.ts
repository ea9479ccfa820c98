/** What workspaces and the commands over them keep to. Plain numbers, because threads read them too. */

/** A file may weigh this much (design section 3, "Workspaces and sandboxes"). */
export const fileBytesMax = 10 * 1024 * 1024;
/** All files of a workspace may weigh this much together. */
export const workspaceBytesMax = 100 * 1024 * 1024;
/** A workspace holds at most this many files, and beside them at most this many empty folders. */
export const workspaceFilesMax = 10_000;
/** A path weighs at most this much, so that it fits into the index it is found by. */
export const workspacePathBytesMax = 1024;
/** A workspace with more files than this is deleted by a job; the request answers 202 at once. */
export const filesDeletedAtOnceMax = 200;
/** So is one whose files weigh more than this. */
export const bytesDeletedAtOnceMax = 16 * 1024 * 1024;

/** A command may run this long; then it is cut (`decisions.md`, "Workspaces and tools"). */
export const commandMs = 30_000;
/** A process that did not stop by itself this long after its time is killed. */
export const processGraceMs = 3_000;
/** CPU time after which the system ends a process whose worker is gone, in seconds. */
export const processCpuSecondsMax = 120;
/** A command may use this much memory beyond what its process starts with. */
export const commandMemoryBytesMax = 256 * 1024 * 1024;
/** A process that weighs this much is killed: one step of the interpreter may pass the limit above for a moment. */
export const processMemoryBytesMax = 1024 * 1024 * 1024;
/** A process's weight is looked at this often. */
export const processWeighEveryMs = 100;
/** Processes of commands and searches that a worker runs at once. */
export const processesMax = 4;
/** Of these, as many as one tenant may have: what is endless in one place leaves room elsewhere. */
export const processesPerTenantMax = 2;
/** A call waits this long for a process of its own. */
export const processWaitMs = 120_000;
/** What a process and its worker say to each other weighs at most this much at a time: a whole workspace, and a list of it. */
export const frameBytesMax = 128 * 1024 * 1024;
/** A command that was overtaken by other writers is run again at most this often. */
export const rerunsMax = 5;
