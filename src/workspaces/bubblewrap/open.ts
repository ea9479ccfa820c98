import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import type { ProgramLimits } from "../../kernel/sandbox-config.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { inSlot } from "../in-slot.ts";
import {
  CommandCutError,
  type CommandRequest,
  type RunOptions,
  type Runtime,
  type RuntimeResult,
  RuntimeUnavailableError,
} from "../runtime.ts";
import { bubblewrapArguments } from "./arguments.ts";
import { type Ran, runInFolder, SandboxStartError } from "./command.ts";
import type { KeptFolder } from "./folder.ts";
import { Folders } from "./folders.ts";
import { commandBytesMax } from "./limits.ts";
import { findMissing } from "./missing.ts";
import { findUsers, type ProgramUsers } from "./users.ts";

/** How a host runs programs. */
export interface BubblewrapOptions {
  readonly limits: ProgramLimits;
  /** Commands that run at once; a tenant has half of them at most. */
  readonly places: number;
  readonly cacheMib: number;
  /** Folders that hold what is the service's. */
  readonly hidden: readonly string[];
}

/** This host cannot run programs in sandboxes; the message says in one line what is missing. */
export class NoSandboxError extends Error {
  override readonly name = "NoSandboxError";
}

/**
 * Returns a runtime for real programs on this host, after it has run one. Says in the log what is in force, and what
 * this host does not enforce. Throws `NoSandboxError`.
 */
export async function openBubblewrap(options: BubblewrapOptions, log: Logger): Promise<BubblewrapRuntime> {
  const missing = await findMissing();
  if (missing !== null) throw new NoSandboxError(missing);
  const users = await findUsers();
  const runtime = new BubblewrapRuntime(options, users, log);
  try {
    await tryOut(runtime);
  } catch (error) {
    await runtime.close();
    throw error;
  }
  log.info(
    { runtime: "bubblewrap", programsRunAs: users.said, ...options.limits },
    `commands run in bubblewrap, as ${users.said}`,
  );
  return runtime;
}

const tryOutMs = 60_000;
const mark = "it works";

/** Runs a first command, whole. Throws `NoSandboxError` with what the system said. */
async function tryOut(runtime: BubblewrapRuntime): Promise<void> {
  const request = { tenantId: "", workspaceId: "", stdin: mark, timeoutMs: tryOutMs, files: [], folders: [] };
  const options = { fetch: async () => [], signal: AbortSignal.timeout(tryOutMs) };
  const command = "cat > tried && cat tried && test $(id -u) = 1000";
  const outcome = await runtime.run({ ...request, command }, options).catch((error: Error) => error.message);
  if (options.signal.aborted) throw new NoSandboxError(`A sandbox takes longer than ${tryOutMs / 1000} s here.`);
  if (typeof outcome === "string")
    throw new NoSandboxError(`This system does not let a sandbox start: ${oneLine(outcome)}`);
  const { stdout, exitCode, stderr, changes, notes } = outcome;
  const isWhole = exitCode === 0 && stdout === mark && changes.writes.length === 1;
  if (!isWhole) throw new NoSandboxError(`A sandbox does not work here: ${oneLine([stderr, ...notes].join(" "))}`);
}

function keyOf({ tenantId, workspaceId }: Pick<CommandRequest, "tenantId" | "workspaceId">): string {
  return `${tenantId}/${workspaceId}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Nothing has run, and the folder is as it was. */
class NeedsError extends Error {
  override readonly name = "NeedsError";

  constructor(cause: unknown) {
    super("", { cause });
  }
}

/** Runs programs in namespaces of this host. */
export class BubblewrapRuntime implements Runtime {
  readonly isReal = true;
  /** What it is, in a few words. */
  readonly said: string;
  readonly #options: BubblewrapOptions;
  readonly #log: Logger;
  readonly #places: SharedSlots;
  readonly #folders: Folders;
  readonly #sandbox: readonly string[];
  readonly #closing = new AbortController();
  #running = 0;

  constructor(options: BubblewrapOptions, users: ProgramUsers, log: Logger) {
    this.said = `bubblewrap, as ${users.said}`;
    this.#options = options;
    this.#log = log;
    this.#places = new SharedSlots(options.places, Math.max(1, Math.ceil(options.places / 2)));
    this.#folders = new Folders(users, options.cacheMib * 1024 * 1024);
    this.#sandbox = bubblewrapArguments(options.hidden);
  }

  /** What runs and what is kept, for metrics. */
  get state() {
    return { running: this.#running, places: this.#options.places, ...this.#folders.kept };
  }

  inPlace<T>(tenantId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return inSlot(this.#places, { tenantId, signal }, work);
  }

  async run(request: CommandRequest, { fetch, signal, needs }: RunOptions): Promise<RuntimeResult> {
    if (Buffer.byteLength(request.command) > commandBytesMax) {
      throw new CommandCutError(
        `A command has at most ${commandBytesMax} bytes; write what is longer to a file first.`,
        126,
      );
    }
    const options = { fetch, signal: AbortSignal.any([signal, this.#closing.signal]), ...(needs && { needs }) };
    this.#running += 1;
    try {
      const { ran, folder } = await this.#runWhole(request, options);
      if (!ran.isFolderGood) folder.holder.end();
      else this.#folders.give(folder);
      return { ...ran.result, kept: async (revisions) => folder.kept(revisions) };
    } finally {
      this.#running -= 1;
    }
  }

  /** Notes what files that the last command of a workspace wrote are now, where its folder is kept still. */
  noteKept(
    { tenantId, workspaceId }: Pick<CommandRequest, "tenantId" | "workspaceId">,
    revisions: ReadonlyMap<string, number>,
  ): void {
    this.#folders.find(keyOf({ tenantId, workspaceId }))?.kept(revisions);
  }

  /** Ends all commands and forgets all folders. */
  async close(): Promise<void> {
    this.#closing.abort(new RuntimeUnavailableError("The host of the command is shutting down; nothing was kept."));
    this.#folders.close();
  }

  /** A folder that was kept may have lost its name spaces; then a new one is made, once. */
  async #runWhole(request: CommandRequest, options: RunOptions): Promise<{ ran: Ran; folder: KeptFolder }> {
    for (let attempt = 1; ; attempt += 1) {
      const folder = await this.#folders.take(keyOf(request)).catch((error: Error) => {
        throw this.#unavailable(error);
      });
      try {
        const { limits } = this.#options;
        this.#tellNeeds(folder, request, options);
        return { folder, ran: await runInFolder({ folder, limits, sandbox: this.#sandbox }, request, options) };
      } catch (error) {
        if (error instanceof NeedsError) {
          this.#folders.give(folder);
          throw error.cause;
        }
        folder.holder.end();
        if (!(error instanceof SandboxStartError)) throw error;
        if (attempt > 1) throw this.#unavailable(error);
      }
    }
  }

  #tellNeeds(folder: KeptFolder, request: CommandRequest, { needs }: RunOptions): void {
    if (needs === undefined) return;
    try {
      needs(folder.renewal(request).writes.map(({ path }) => path));
    } catch (error) {
      throw new NeedsError(error);
    }
  }

  #unavailable(error: Error): RuntimeUnavailableError {
    this.#log.error({ reason: error.message }, "a sandbox could not be started");
    return new RuntimeUnavailableError(
      `A sandbox could not be started (${oneLine(error.message)}); nothing was changed.`,
    );
  }
}
