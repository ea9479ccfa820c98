import { sameText } from "../../kernel/seal.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { ToolError } from "../../tools/error.ts";
import type { BubblewrapRuntime } from "../bubblewrap/open.ts";
import { encodeFrame } from "../frames.ts";
import { CommandCutError, type CommandRequest, type FetchContents, RuntimeUnavailableError } from "../runtime.ts";
import { commandsEnded } from "./command-metrics.ts";
import { FrameStream } from "./frame-stream.ts";
import {
  beatMs,
  type ContentsMessage,
  commandsPath,
  type HostMessage,
  type KeptMessage,
  keptPath,
  type RunMessage,
} from "./protocol.ts";

/** What a host of sandboxes has. */
interface SandboxHost {
  readonly runtime: BubblewrapRuntime;
  readonly token: string;
  readonly log: Logger;
}

/** Returns what a host of sandboxes does with requests of workers; null for one that is none of theirs. */
export function sandboxApp(host: SandboxHost): (request: Request) => Promise<Response | null> {
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method !== "POST" || (pathname !== commandsPath && pathname !== keptPath)) return null;
    if (!sameText(request.headers.get("authorization") ?? "", `Bearer ${host.token}`)) {
      return Response.json({ error: "Send SANDBOX_TOKEN as the bearer." }, { status: 401 });
    }
    if (request.body === null) return new Response(null, { status: 400 });
    const frames = new FrameStream(request.body);
    const message = await frames.next().catch(() => null);
    if (pathname === keptPath) return noteKept(host, message);
    if (!isOfType<RunMessage>(message, "run")) return new Response(null, { status: 400 });
    return respondTo(host, request, message, frames);
  };
}

function noteKept({ runtime }: SandboxHost, message: unknown): Response {
  if (!isOfType<KeptMessage>(message, "kept")) return new Response(null, { status: 400 });
  const { revisions, ...workspace } = message;
  runtime.noteKept(workspace, new Map(revisions));
  return new Response(null, { status: 204 });
}

function isOfType<T extends { readonly type: string }>(message: unknown, type: T["type"]): message is T {
  return typeof message === "object" && message !== null && (message as T).type === type;
}

/** Runs a command as long as its worker reads, and streams what becomes of it. */
function respondTo(host: SandboxHost, request: Request, message: RunMessage, frames: FrameStream): Response {
  const stop = new AbortController();
  const gone = () => stop.abort(new Error("the worker is gone"));
  request.signal.addEventListener("abort", gone, { once: true });
  let beat: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const say = (said: HostMessage) => {
        try {
          controller.enqueue(encodeFrame(said));
        } catch {
          gone();
        }
      };
      say({ type: "beat" });
      beat = setInterval(() => say({ type: "beat" }), beatMs);
      void outcomeOf(host, message, frames, stop.signal).then((said) => {
        clearInterval(beat);
        commandsEnded.inc({ outcome: said.type });
        say(said);
        if (!stop.signal.aborted) controller.close();
      });
    },
    cancel: () => {
      clearInterval(beat);
      gone();
    },
  });
  return new Response(body, { headers: { "Content-Type": "application/octet-stream" } });
}

/** The command needs files that were not offered. */
class MissingFilesError extends Error {
  override readonly name = "MissingFilesError";
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super("files are missing");
    this.paths = paths;
  }
}

async function outcomeOf(
  { runtime, log }: SandboxHost,
  { request, offers }: RunMessage,
  frames: FrameStream,
  signal: AbortSignal,
): Promise<HostMessage> {
  const offered = new Set(offers);
  const needs = (paths: readonly string[]) => {
    if (paths.some((path) => !offered.has(path))) throw new MissingFilesError([...new Set([...offers, ...paths])]);
  };
  try {
    const options = { fetch: fetchFrom(frames, offers), signal, needs };
    const { kept: _, ...result } = await runtime.inPlace(request.tenantId, signal, () => runtime.run(request, options));
    return { type: "done", result };
  } catch (error) {
    if (error instanceof MissingFilesError) return { type: "need", paths: error.paths };
    return failed(error, request, log);
  }
}

function failed(error: unknown, { workspaceId }: CommandRequest, log: Logger): HostMessage {
  if (error instanceof CommandCutError) return { type: "cut", message: error.message, exitCode: error.exitCode };
  if (error instanceof ToolError) return { type: "refused", message: error.message };
  if (error instanceof RuntimeUnavailableError) return { type: "unavailable", message: error.message };
  log.warn({ err: error, workspaceId }, "a command could not be run");
  return { type: "unavailable", message: "The host of the command broke off; nothing was kept." };
}

/** Returns contents in the order in which they were offered; those that come before the ones that are asked for are let go. */
function fetchFrom(frames: FrameStream, offers: readonly string[]): FetchContents {
  const held = new Map<string, Uint8Array | null>();
  let place = 0;
  return async (paths) => {
    while (paths.some((path) => !held.has(path))) {
      const message = (await frames.next()) as ContentsMessage | null;
      if (message === null) throw new Error("The contents of files broke off.");
      for (const content of message.contents) {
        held.set(offers[place] ?? "", content);
        place += 1;
      }
    }
    return paths.map((path) => {
      const content = held.get(path) ?? null;
      held.delete(path);
      return content;
    });
  };
}
