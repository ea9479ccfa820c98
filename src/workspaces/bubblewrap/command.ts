import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { within } from "../../kernel/async/wait.ts";
import type { ProgramLimits } from "../../kernel/sandbox-config.ts";
import { batchesOf } from "../files.ts";
import { plainBytes } from "../frames.ts";
import { workspaceBytesMax } from "../limits.ts";
import {
  type CommandRequest,
  type CommandResult,
  noChanges,
  type RunOptions,
  type StoredFile,
  timeUpExitCode,
} from "../runtime.ts";
import { archiveOf, readArchive } from "./archive.ts";
import type { KeptFolder } from "./folder.ts";
import { commandBeginMs, commandEndMs, listBytesMax, outputBytesMax } from "./limits.ts";
import { Output } from "./output.ts";
import { PipeError, PipeReader } from "./pipe-reader.ts";
import { type Difference, differenceOf, fitsWorkspace, type Renewal, readScan, type Scan } from "./scan.ts";
import { commandScript, firstProgram, insideScript } from "./scripts.ts";
import { Supervisor, type TimeUp } from "./supervisor.ts";

/** What a command runs with on this host. */
export interface CommandPlace {
  readonly folder: KeptFolder;
  readonly limits: ProgramLimits;
  /** Bubblewrap's arguments, up to the program. */
  readonly sandbox: readonly string[];
}

/** The outcome of a command; `isFolderGood` is false when it is not known what is in the folder now. */
export interface Ran {
  readonly result: CommandResult;
  readonly isFolderGood: boolean;
}

/** The sandbox could not be made, or broke off before the command began; the message is what the system said. */
export class SandboxStartError extends Error {
  override readonly name = "SandboxStartError";
}

/** Runs a command in a folder that it has alone. Throws the signal's reason, `SandboxStartError`, and what `fetch` throws. */
export async function runInFolder(place: CommandPlace, request: CommandRequest, options: RunOptions): Promise<Ran> {
  options.signal.throwIfAborted();
  const running = new RunningCommand(place, request);
  const abort = () => running.end();
  options.signal.addEventListener("abort", abort, { once: true });
  try {
    return await running.run(options);
  } catch (error) {
    options.signal.throwIfAborted();
    throw error;
  } finally {
    options.signal.removeEventListener("abort", abort);
    await running.gone();
  }
}

class RunningCommand {
  readonly #place: CommandPlace;
  readonly #request: CommandRequest;
  readonly #process: ChildProcess;
  readonly #stdout: Output;
  readonly #stderr: Output;
  readonly #reader: PipeReader;
  readonly #closed: Promise<void>;
  #timeUp: TimeUp | null = null;
  #hasBegun = false;
  #durationMs = 0;
  /** What the workspace's mount can hold. */
  readonly #sizes: string;

  constructor(place: CommandPlace, request: CommandRequest) {
    this.#place = place;
    this.#request = request;
    this.#sizes = mountSizes(place, request);
    this.#process = place.folder.holder.spawn(
      [
        "-c",
        commandScript,
        "command",
        this.#sizes === place.folder.sizes ? "" : this.#sizes,
        ...mountWords(place, request),
        ...place.sandbox,
        ...programWords(place, request),
      ],
      ["pipe", "pipe", "pipe", "pipe", "pipe"],
    );
    const { stdin, stdout, stderr, stdio } = this.#process;
    this.#stdout = new Output(stdout as Readable);
    this.#stderr = new Output(stderr as Readable);
    this.#reader = new PipeReader(stdio[4] as Readable);
    this.#closed = new Promise((resolve) => {
      this.#process.once("close", () => resolve());
      this.#process.once("error", () => resolve());
    });
    // An error of writing to a process that has ended is ignored: what is read from it says that it has.
    for (const stream of [stdin, stdio[3] as Writable]) stream?.on("error", () => {});
    stdin?.end(request.stdin);
  }

  /** Ends all its programs: they are in a process name space whose first process goes with this one. */
  end(): void {
    this.#process.kill("SIGKILL");
  }

  async gone(): Promise<void> {
    this.end();
    await this.#closed;
  }

  async run({ fetch }: RunOptions): Promise<Ran> {
    try {
      await this.#timed(this.#begin(fetch), commandBeginMs);
      return await this.#supervise();
    } catch (error) {
      if (this.#timeUp !== null) return this.#endedByTime(this.#timeUp);
      if (!(error instanceof PipeError)) throw error;
      await this.gone();
      if (!this.#hasBegun) throw new SandboxStartError(this.#stderr.text().trim().slice(0, 500) || error.message);
      return this.#nothingKept(137, "The command broke off; nothing that it wrote is kept.");
    }
  }

  /** Brings the workspace's files, and waits until the command begins. */
  async #begin(fetch: RunOptions["fetch"]): Promise<void> {
    const { folder } = this.#place;
    const renewal = folder.renewal(this.#request);
    const isRenewed = renewal.removes.length + renewal.writes.length + renewal.folders.length > 0;
    await Promise.all([
      this.#send(renewal, fetch),
      (async () => {
        const scan = isRenewed ? await this.#readList() : null;
        folder.renewed(scan, this.#request.files);
        const said = await this.#reader.line();
        if (said !== "begun") throw new PipeError(said);
        folder.sizes = this.#sizes;
        this.#hasBegun = true;
      })(),
    ]);
  }

  async #send({ removes, writes, folders }: Renewal, fetch: RunOptions["fetch"]): Promise<void> {
    await this.#writePart(removes.flatMap((name) => [Buffer.from("./"), name, Buffer.from([0])]));
    const batches: StoredFile[][] = batchesOf(writes, ({ size }) => size);
    if (folders.length > 0) await this.#writePart(await archiveOf([], folders));
    const fetchBatch = (batch: readonly StoredFile[]) => fetch(batch.map(({ path }) => path));
    let next: ReturnType<typeof fetch> | undefined;
    for (const [index, batch] of batches.entries()) {
      const contents = await (next ?? fetchBatch(batch));
      const following = batches[index + 1];
      next = following && fetchBatch(following);
      next?.catch(() => {});
      const files = batch.flatMap((file, place) => {
        const content = contents[place];
        return content === null || content === undefined ? [] : [{ ...file, content }];
      });
      if (files.length > 0) await this.#writePart(await archiveOf(files, []));
    }
    await this.#write(Buffer.from("0\n"));
  }

  /** Writes pieces as one part, whose length comes first. */
  async #writePart(pieces: readonly Uint8Array[]): Promise<void> {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const stream = this.#process.stdio[3] as Writable;
    const last = pieces.at(-1);
    const length = Buffer.from(`${bytes}\n`);
    if (last === undefined) return this.#write(length);
    for (const piece of [length, ...pieces.slice(0, -1)]) stream.write(piece);
    await this.#write(last);
  }

  /** Waits until it is written, with all before it. */
  #write(bytes: Uint8Array): Promise<void> {
    const stream = this.#process.stdio[3] as Writable;
    return new Promise((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(new PipeError("ended")) : resolve()));
    });
  }

  async #readList(): Promise<Scan> {
    await this.#reader.until(Buffer.from([0]), 1);
    const list = await this.#reader.until(Buffer.from("end\0"), listBytesMax);
    return readScan(list);
  }

  async #supervise(): Promise<Ran> {
    const { limits } = this.#place;
    const root = this.#process.pid as number;
    const end = (why: TimeUp) => {
      this.#timeUp = why;
      this.end();
    };
    const supervisor = new Supervisor({ root, limits, timeoutMs: this.#request.timeoutMs, end });
    let said: string;
    try {
      said = await this.#reader.line();
    } finally {
      this.#durationMs = supervisor.stop();
    }
    const exitCode = /^exit (\d{1,3})$/.exec(said)?.[1];
    if (exitCode === undefined) throw new PipeError(said);
    const killed = supervisor.killed === 0 ? [] : [memoryNote(limits, supervisor.killed)];
    return this.#timed(this.#bringBack({ exitCode: Number(exitCode), notes: killed }), commandEndMs);
  }

  async #bringBack(ended: { exitCode: number; notes: string[] }): Promise<Ran> {
    const { folder } = this.#place;
    const before = folder.scan;
    const after = await this.#readList();
    const difference = differenceOf(before, after, this.#request);
    const sizes = new Map(difference.changed.map((path) => [path, after.entries.get(path)?.size ?? 0]));
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    const fits = bytes <= workspaceBytesMax && fitsWorkspace(after);
    if (!fits) sizes.clear();
    await this.#writePart([...sizes.keys()].map((path) => Buffer.from(`${path}\0`)));
    const contents = sizes.size > 0 ? await readArchive(this.#reader.rest(), sizes) : new Map<string, Buffer>();
    if (contents.size < sizes.size) throw new PipeError("files are missing");
    await this.#closed;
    folder.left(after);
    const notes = [...ended.notes, ...difference.leftOut];
    if (!fits)
      return this.#ran({ ...ended, exitCode: ended.exitCode || 1, notes: [...notes, tooMuchNote], changes: noChanges });
    return this.#ran({ ...ended, notes, changes: changesOf(difference, contents, after) });
  }

  #ran(ended: Pick<CommandResult, "exitCode" | "changes" | "notes">, isFolderGood = true): Ran {
    const result = {
      ...ended,
      durationMs: Math.round(this.#durationMs),
      stdout: this.#stdout.text(),
      stderr: this.#stderr.text(),
      isCut: this.#stdout.isCut || this.#stderr.isCut,
    };
    return { result, isFolderGood };
  }

  async #endedByTime(why: TimeUp): Promise<Ran> {
    const { timeoutMs } = this.#request;
    const { cpuSeconds } = this.#place.limits;
    const time = why === "wall" ? `${timeoutMs / 1000} s` : `${cpuSeconds} s of processor time`;
    await this.gone();
    return this.#nothingKept(timeUpExitCode, `The command was ended after ${time}; nothing that it wrote is kept.`);
  }

  #nothingKept(exitCode: number, note: string): Ran {
    return this.#ran({ exitCode, changes: noChanges, notes: [note] }, false);
  }

  async #timed<T>(work: Promise<T>, limitMs: number): Promise<T> {
    return within(work, limitMs, () => {
      this.end();
      throw new PipeError("took too long");
    });
  }
}

const tooMuchNote = "The workspace would hold more than it may. No file was changed.";

function memoryNote({ memoryMib }: ProgramLimits, killed: number): string {
  const programs = killed === 1 ? "A program was killed" : `${killed} programs were killed`;
  return `${programs}: the programs of a command have at most ${memoryMib} MiB of memory together.`;
}

function changesOf({ changed, ...others }: Difference, contents: ReadonlyMap<string, Buffer>, after: Scan) {
  const writes = changed.map((path) => ({
    path,
    content: plainBytes(contents.get(path) as Buffer),
    executable: after.entries.get(path)?.executable ?? false,
  }));
  const { deletes, foldersMade, foldersGone } = others;
  return { writes, deletes, foldersMade, foldersGone };
}

const kib = 1024;
const pageBytes = 4096;

/** Bytes and names that the workspace's mount can hold. */
function mountSizes({ limits, folder }: CommandPlace, { files, folders }: CommandRequest): string {
  const pages = files.reduce((sum, { size }) => sum + Math.ceil(size / pageBytes), 0);
  const held = Math.max(pages * pageBytes, folder.bytes);
  const names = Math.max(files.length + folders.length, folder.scan.entries.size);
  return `size=${held + limits.writtenMib * kib * kib},nr_inodes=${2 * names + limits.files}`;
}

/** Sizes of the other mounts, the bytes of output, and whether there is any input (`commandScript`). */
function mountWords({ limits }: CommandPlace, { stdin }: CommandRequest): string[] {
  return [`size=${limits.tmpMib}m,nr_inodes=${limits.files}`, String(outputBytesMax + 1), stdin === "" ? "0" : "1"];
}

/** The program that bubblewrap starts, with its limits in the units of `ulimit` (`insideScript`). */
function programWords({ limits }: CommandPlace, { command }: CommandRequest): string[] {
  const { cpuSeconds, openFiles, processes, fileMib, memoryMib } = limits;
  // The supervisor says why a command is ended; where the supervisor is frozen, the kernel ends it a little later.
  const words = [command, cpuSeconds + 5, openFiles, processes, fileMib * kib, memoryMib * kib];
  return ["--", firstProgram, "--noprofile", "--norc", "-c", insideScript, "sandbox", ...words.map(String)];
}
