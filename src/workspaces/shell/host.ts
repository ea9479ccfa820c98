import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import { ToolError } from "../../tools/error.ts";
import { encodeFrame, FrameReader, plainBytes } from "../frames.ts";
import { inSlot } from "../in-slot.ts";
import {
  commandMs,
  frameBytesMax,
  processesMax,
  processesPerTenantMax,
  processGraceMs,
  processMemoryBytesMax,
  processMemoryCheckMs,
  processStartMs,
} from "../limits.ts";
import { CommandCutError, type CommandResult, type RunOptions } from "../runtime.ts";
import { startProcess } from "./process.ts";
import type { CommandJob, ProcessJob, ProcessMessage, SearchJob, SearchResult, WorkerMessage } from "./protocol.ts";

/** Shared by the whole process: the load on the machine does not depend on how many contexts the process has. */
const slots = new SharedSlots(processesMax, processesPerTenantMax);

/** For callers that cannot be aborted. */
export const neverAborted = new AbortController().signal;

/**
 * Waits for a slot, and holds it for `work`: what is read for a job is read within it,
 * so that jobs that wait hold no list of files and no connection. Throws the signal's
 * reason, `ToolError` when no slot became free in time, and what `work` throws.
 */
export function withJobSlot<T>(tenantId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return inSlot(slots, { tenantId, signal }, work);
}

/**
 * Runs a job in a separate process; for callers that hold a slot (`withJobSlot`). A thread would be lighter, but a runtime
 * cannot end a thread during every kind of step (a regular expression, for example),
 * and a separate process holds no secrets. Throws the signal's reason when it aborts,
 * `CommandCutError` when the process had to be killed, `ToolError` when the job itself fails.
 */
export function runJob(job: CommandJob, options: RunOptions): Promise<CommandResult>;
export function runJob(job: SearchJob, options: RunOptions): Promise<SearchResult>;
export async function runJob(job: ProcessJob, options: RunOptions): Promise<CommandResult | SearchResult> {
  const child = startProcess();
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  try {
    return await converse(child, job, options);
  } finally {
    child.kill("SIGKILL");
    await gone;
  }
}

function converse(
  child: ChildProcess,
  job: ProcessJob,
  { fetch, signal }: RunOptions,
): Promise<CommandResult | SearchResult> {
  const reader = new FrameReader(frameBytesMax);
  const send = (message: WorkerMessage) => child.stdin?.write(encodeFrame(message));
  const stopWatching: (() => void)[] = [];
  const outcome = new Promise<CommandResult | SearchResult>((resolve, reject) => {
    const cut = (why: string) => reject(new CommandCutError(why));
    const limitMs = job.kind === "command" ? job.timeoutMs : commandMs;
    let limit = setTimeout(
      () => reject(new ToolError(`The shell did not start within ${processStartMs / 1000} s. Try again.`)),
      processStartMs,
    );
    let mayBegin = true;
    const memoryCheck = setInterval(async () => {
      if ((await memoryOf(child)) > processMemoryBytesMax) cut("The command was cut: it used more memory than it may.");
    }, processMemoryCheckMs);
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
    stopWatching.push(
      () => {
        mayBegin = false;
        clearTimeout(limit);
      },
      () => clearInterval(memoryCheck),
      () => signal.removeEventListener("abort", aborted),
    );
    const receive = (message: ProcessMessage) => {
      if (message.type === "done") resolve(message.result);
      else if (message.type === "begun") {
        if (!mayBegin) return;
        mayBegin = false;
        // A busy machine takes seconds to start a process, and the command is to have its full time.
        clearTimeout(limit);
        limit = setTimeout(() => cut(`The command was cut after ${limitMs / 1000} s.`), limitMs + processGraceMs);
      } else if (message.type === "failed") reject(new ToolError(message.message));
      else
        fetch(message.paths).then((contents) => {
          const plain = contents.map((content) => (content === null ? null : plainBytes(content)));
          send({ type: "contents", contents: plain });
        }, reject);
    };
    child.stdout?.on("data", (piece: Buffer) => {
      try {
        for (const message of reader.push(piece)) receive(message as ProcessMessage);
      } catch {
        cut("The command broke off: its result was too large.");
      }
    });
    // An error of writing to a process that has ended is ignored: its `close` event has the reason.
    child.stdin?.on("error", () => {});
    child.once("error", reject);
    child.once("close", () => cut("The command broke off."));
    send({ type: "job", job });
  });
  return outcome.finally(() => {
    for (const stop of stopWatching) stop();
  });
}

/** Returns the bytes of memory that a process uses; 0 where the system does not report it. */
async function memoryOf({ pid }: ChildProcess): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
