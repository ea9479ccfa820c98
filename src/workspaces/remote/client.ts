import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import { sleep, within } from "../../kernel/async/wait.ts";
import { ToolError } from "../../tools/error.ts";
import { batchesOf } from "../files.ts";
import { encodeFrame, frameParts, plainBytes } from "../frames.ts";
import { inSlot } from "../in-slot.ts";
import {
  CommandCutError,
  type CommandRequest,
  type CommandResult,
  type RunOptions,
  type Runtime,
  type RuntimeResult,
  RuntimeUnavailableError,
  type StoredFile,
} from "../runtime.ts";
import { FrameStream } from "./frame-stream.ts";
import { SandboxHosts } from "./hosts.ts";
import { commandsPath, type HostMessage, keptPath, silenceMs } from "./protocol.ts";

/** Commands that one process has at hosts of sandboxes at once; these have their own places. A tenant has half of them. */
const commandsAtOnceMax = 64;
/** For so long hosts that are away, or that drain, are asked again and again before a command fails. */
const reachMs = 30_000;
const connectMs = 10_000;
const againMs = 500;
/** Requests of one command: files that it needs may change in between. */
const needsMax = 5;
/** The host is told what became of the files in this time, or finds out when it is given them again. */
const keptMs = 2_000;

interface RemoteOptions {
  readonly urls: readonly string[];
  readonly token: string;
}

/** A host could not be reached, or does not take commands at the moment: another one may. */
class HostAwayError extends Error {
  override readonly name = "HostAwayError";
}

/** Runs programs on separate hosts (`npm run sandbox`). */
export class RemoteRuntime implements Runtime {
  readonly isReal = true;
  readonly #hosts: SandboxHosts;
  readonly #headers: Record<string, string>;
  readonly #slots = new SharedSlots(commandsAtOnceMax, commandsAtOnceMax / 2);

  constructor({ urls, token }: RemoteOptions) {
    this.#hosts = new SandboxHosts(urls);
    this.#headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/octet-stream" };
  }

  inPlace<T>(tenantId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return inSlot(this.#slots, { tenantId, signal }, work);
  }

  async run(request: CommandRequest, options: RunOptions): Promise<RuntimeResult> {
    const startedAtMs = performance.now();
    for (;;) {
      for (const url of this.#hosts.inOrder(request.workspaceId)) {
        try {
          const result = await this.#runAt(url, request, options);
          return { ...result, kept: (revisions) => this.#tellKept(url, request, revisions) };
        } catch (error) {
          options.signal.throwIfAborted();
          if (!(error instanceof HostAwayError)) throw error;
          this.#hosts.noteAway(url);
          if (performance.now() - startedAtMs > reachMs) throw new RuntimeUnavailableError(unreachable);
        }
      }
      await sleep(againMs, options.signal);
      options.signal.throwIfAborted();
    }
  }

  async close(): Promise<void> {
    // Commands that run are their callers' to end.
  }

  /** Runs the command at one host, which is first asked what it needs. Throws `HostAwayError` while nothing can have run. */
  async #runAt(url: string, request: CommandRequest, options: RunOptions): Promise<CommandResult> {
    let offers: readonly string[] = [];
    for (let attempt = 0; attempt < needsMax; attempt += 1) {
      const said = await this.#ask(url, request, offers, options);
      if (said.type === "done") return said.result;
      if (said.type === "cut") throw new CommandCutError(said.message, said.exitCode);
      if (said.type === "refused") throw new ToolError(said.message);
      if (said.type !== "need") {
        throw new RuntimeUnavailableError(said.type === "unavailable" ? said.message : "The host said nothing.");
      }
      offers = said.paths;
    }
    throw new RuntimeUnavailableError("The host of the command lost its files again and again; nothing was changed.");
  }

  /** Sends a command with the contents that are offered, and returns the host's last word. */
  async #ask(
    url: string,
    request: CommandRequest,
    offers: readonly string[],
    { fetch: contentsOf, signal }: RunOptions,
  ): Promise<HostMessage> {
    const stop = new AbortController();
    const stopped = AbortSignal.any([signal, stop.signal]);
    try {
      const body =
        offers.length === 0 ? encodeFrame({ type: "run", request, offers }) : streamOf(request, offers, contentsOf);
      const init = {
        method: "POST",
        headers: this.#headers,
        body: body as BodyInit,
        duplex: "half",
        redirect: "error",
      };
      const sent = fetch(`${url}${commandsPath}`, { ...init, signal: stopped } as RequestInit).catch((error: Error) => {
        throw new HostAwayError(error.message);
      });
      const response = await within(sent, connectMs, () => {
        throw new HostAwayError("it does not respond");
      });
      if (response.status === 401) {
        throw new RuntimeUnavailableError("The host of sandboxes refuses SANDBOX_TOKEN; nothing was changed.");
      }
      if (!response.ok || response.body === null) throw new HostAwayError(`it responded ${response.status}`);
      this.#hosts.noteThere(url);
      return await lastWord(new FrameStream(response.body));
    } finally {
      stop.abort();
    }
  }

  async #tellKept(url: string, request: CommandRequest, revisions: ReadonlyMap<string, number>): Promise<void> {
    if (revisions.size === 0) return;
    const { tenantId, workspaceId } = request;
    const body = encodeFrame({ type: "kept", tenantId, workspaceId, revisions: [...revisions] }) as BodyInit;
    const signal = AbortSignal.timeout(keptMs);
    await fetch(`${url}${keptPath}`, { method: "POST", headers: this.#headers, body, signal }).catch(() => {});
  }
}

const unreachable = "No host of sandboxes can be reached at the moment; nothing was changed.";
const lost = "The host of the command was lost; nothing was kept.";

/** Reads until the last message. A host that is silent is lost, and what the command did with it. */
async function lastWord(frames: FrameStream): Promise<HostMessage> {
  for (;;) {
    const next = frames.next().catch(() => null);
    const said = (await within(next, silenceMs, () => null)) as HostMessage | null;
    if (said === null) throw new RuntimeUnavailableError(lost);
    if (said.type !== "beat") return said;
  }
}

/** A request with the contents that it offers, which are read as they are sent. */
function streamOf(request: CommandRequest, offers: readonly string[], contentsOf: RunOptions["fetch"]) {
  const files = new Map(request.files.map((file) => [file.path, file]));
  const known = offers.flatMap((path) => files.get(path) ?? []);
  const batches: StoredFile[][] = batchesOf(known, ({ size }) => size);
  let isBegun = false;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (!isBegun) {
        isBegun = true;
        return controller.enqueue(encodeFrame({ type: "run", request, offers: known.map(({ path }) => path) }));
      }
      const batch = batches.shift();
      if (batch === undefined) return controller.close();
      const contents = await contentsOf(batch.map(({ path }) => path));
      const plain = contents.map((content) => (content === null ? null : plainBytes(content)));
      for (const part of frameParts({ type: "contents", contents: plain })) controller.enqueue(part);
    },
  });
}
