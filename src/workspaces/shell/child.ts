import { encodeFrame, FrameReader } from "../frames.ts";
import { frameBytesMax } from "../limits.ts";
import { runShellCommand } from "./command.ts";
import type { ProcessJob, ProcessMessage, WorkerMessage } from "./protocol.ts";
import { search } from "./search.ts";

/**
 * The process of one command or search. It is isolated: no environment, no database,
 * no secrets, nothing but the job and the contents it requests. A command that never
 * yields blocks only this process, and the worker kills it.
 */

const waiting: ((message: WorkerMessage) => void)[] = [];
const reader = new FrameReader(frameBytesMax);
process.stdin.on("data", (piece: Buffer) => {
  for (const message of reader.push(piece)) waiting.shift()?.(message as WorkerMessage);
});
// The worker has ended: the result is not needed any more.
process.stdin.on("end", () => process.exit(1));

function receive(): Promise<WorkerMessage> {
  return new Promise((resolve) => waiting.push(resolve));
}

function send(message: ProcessMessage): Promise<void> {
  return new Promise((resolve) => process.stdout.write(encodeFrame(message), () => resolve()));
}

async function fetch(paths: readonly string[]): Promise<readonly (Uint8Array | null)[]> {
  const received = receive();
  await send({ type: "need", paths });
  const message = await received;
  return message.type === "contents" ? message.contents : [];
}

async function run(job: ProcessJob): Promise<ProcessMessage> {
  try {
    return {
      type: "done",
      result: job.kind === "command" ? await runShellCommand(job, fetch) : await search(job, fetch),
    };
  } catch (error) {
    return { type: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

const first = await receive();
if (first.type === "job") {
  await send({ type: "begun" });
  await send(await run(first.job));
}
process.exit(0);
