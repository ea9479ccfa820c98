/** What commands of workspaces run in (docs/sandboxes.md). */
export interface SandboxConfig {
  readonly runtime: "simulated" | "bubblewrap" | "remote";
  /** Where `remote` sandboxes are. */
  readonly urls: readonly string[];
  /** What workers show to `remote` sandboxes, and these demand; null: none is set. */
  readonly token: string | null;
  /** Commands that one host runs at once. */
  readonly places: number;
  /** What a host keeps of workspaces between commands. */
  readonly cacheMib: number;
  readonly limits: ProgramLimits;
}

/** What the programs of one command may use together, or each where it says so (docs/sandboxes.md, "Limits"). */
export interface ProgramLimits {
  readonly memoryMib: number;
  readonly processes: number;
  /** Each process. */
  readonly openFiles: number;
  /** Each file. */
  readonly fileMib: number;
  /** To the workspace, beyond what it had. */
  readonly writtenMib: number;
  /** Files and folders in the workspace, beyond those it had. */
  readonly files: number;
  /** In `/tmp`, and as much in `/dev/shm`. */
  readonly tmpMib: number;
  readonly cpuSeconds: number;
}

export const programLimitsDefault: ProgramLimits = {
  memoryMib: 1024,
  processes: 512,
  openFiles: 1024,
  fileMib: 512,
  writtenMib: 512,
  files: 30_000,
  tmpMib: 256,
  cpuSeconds: 60,
};
