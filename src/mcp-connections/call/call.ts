import { clearTimeout, setTimeout } from "node:timers";
import { sleep, waitAtMost } from "../../kernel/async/wait.ts";
import type { ToolProgress } from "../../messages/tool-progress.ts";
import { ToolError } from "../../tools/error.ts";
import {
  callMsMax,
  callSilenceMs,
  noticeTimeoutMs,
  taskFailuresMax,
  taskPollMsDefault,
  taskPollMsMax,
  taskPollMsMin,
  taskRequestMs,
} from "../limits.ts";
import { failureOf, UnreadableAnswer } from "../wire/failure.ts";
import { asFields, asText, Unreadable } from "../wire/fields.ts";
import { ProtocolError, SdkError, SdkErrorCode, type Tool } from "../wire/sdk.ts";
import { declined, declineInput, questionsIn } from "./input-requests.ts";
import { asCallResult, cutText, type ReadResult } from "./result.ts";
import { type McpSession, SessionLostError } from "./session.ts";
import { asTask, beganTask, type TaskState } from "./tasks.ts";
import type { McpTool } from "./tool-list.ts";

/** What a call is made with. */
export interface CallRequest {
  readonly tool: Pick<McpTool, "name" | "inputSchema" | "runsAsTask">;
  readonly args: Record<string, unknown>;
  readonly meta: Record<string, unknown>;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: ToolProgress) => void;
  /** Called when the server runs the call as a task. */
  readonly onTask?: (taskId: string) => void;
}

/** How long a call may take. */
export interface CallLimits {
  /** Without anything being heard of it. */
  readonly silenceMs: number;
  readonly msMax: number;
}

/** A report of progress as a server sends it. */
interface ServerProgress {
  readonly progress: number;
  readonly total?: number | null | undefined;
  readonly message?: string | null | undefined;
}

/**
 * One call of a server's tool. A server may run it as a task, which outlives the session in
 * which it was begun: then `runOn` another session goes on with the same task.
 */
export class ServerCall {
  readonly #request: CallRequest;
  readonly #limits: CallLimits;
  readonly #endsAt: number;
  #task: TaskState | null = null;
  /** What the task said of itself last, and how often that has changed. */
  #said: string | null = null;
  #changes = 0;
  /** Whether the server may run the task still, for all that is known. */
  #mayRun = false;
  readonly #answered = new Set<string>();

  constructor(request: CallRequest, limits: CallLimits = { silenceMs: callSilenceMs, msMax: callMsMax }) {
    this.#request = request;
    this.#limits = limits;
    this.#endsAt = Date.now() + limits.msMax;
  }

  /**
   * Makes the call, or goes on with the task that it became, and returns the result. When the
   * signal aborts, or the call lasts longer than its limit, the server is told so and this
   * rejects. Throws `ProtocolError` for an error that the server returns, `ToolError` for a
   * task without a result and as `declineInput`, `SessionLostError`, and errors that
   * `failureOf` reads.
   */
  async runOn(session: McpSession): Promise<ReadResult> {
    const { signal } = this.#request;
    signal?.throwIfAborted();
    // The SDK never removes its listener from a signal, so it gets a signal that lives as long as the call.
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const tooLong = () => stop.abort(new SdkError(SdkErrorCode.RequestTimeout, "Request timed out"));
    const limit = setTimeout(tooLong, Math.max(0, this.#endsAt - Date.now()));
    try {
      if (this.#task === null) {
        const result = await this.#begin(session, stop.signal);
        this.#task = beganTask(result);
        if (this.#task === null) return readResult("tools/call", result);
        this.#mayRun = true;
        this.#request.onTask?.(this.#task.taskId);
      }
      return await this.#follow(session, this.#task, stop.signal);
    } finally {
      clearTimeout(limit);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Whether the server runs nothing of the call any more. */
  get isOver(): boolean {
    return !this.#mayRun;
  }

  async #begin(session: McpSession, signal: AbortSignal): Promise<unknown> {
    const { tool, args, meta } = this.#request;
    const { name, inputSchema, runsAsTask } = tool;
    const params = { name, arguments: args, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
    const options = this.#watched(signal);
    if (runsAsTask) return session.request("tools/call", { ...params, task: { ttl: 2 * this.#limits.msMax } }, options);
    // Of the definition the SDK reads which arguments are repeated as headers; results are not validated.
    const toolDefinition = { name, inputSchema: inputSchema as Tool["inputSchema"] };
    return declineInput((answer) => session.callTool({ ...params, ...answer }, { ...options, toolDefinition }));
  }

  /** Progress is a sign of life: a request that is waited for may take longer for it. */
  #watched(signal: AbortSignal) {
    const { onProgress } = this.#request;
    return {
      signal,
      timeout: this.#limits.silenceMs,
      resetTimeoutOnProgress: true,
      onprogress: ({ progress, total = null, message = null }: ServerProgress) =>
        onProgress({ progress, total, message }),
    };
  }

  /** Asks for a task until it has ended. One that is given up is cancelled, so that it does not run in vain. */
  async #follow(session: McpSession, began: TaskState, signal: AbortSignal): Promise<ReadResult> {
    try {
      for (let task = began; ; task = await this.#nextState(session, task, signal)) {
        this.#note(task);
        this.#mayRun = task.status === "working" || task.status === "input_required";
        if (task.status === "cancelled") throw new ToolError("The MCP server cancelled the task of this call.");
        // Of revision 2025-11-25 it is the request for the result on which a server asks.
        if (!this.#mayRun || (task.status === "input_required" && session.hasSessions))
          return await this.#resultOf(session, task, signal);
        if (task.status === "input_required") await this.#answer(session, task, signal);
      }
    } catch (error) {
      const isKnown = !(error instanceof SessionLostError || error instanceof ProtocolError);
      if (this.#mayRun && isKnown) await this.#cancel(session, began);
      throw error;
    }
  }

  async #nextState(session: McpSession, { taskId, pollMs }: TaskState, signal: AbortSignal): Promise<TaskState> {
    const pauseMs = Math.min(taskPollMsMax, Math.max(taskPollMsMin, pollMs ?? taskPollMsDefault));
    for (let failures = 0; ; ) {
      await sleep(Math.min(taskPollMsMax, pauseMs * 2 ** failures), signal);
      if (signal.aborted) throw signal.reason;
      try {
        const state = asTask(await session.request("tasks/get", { taskId }, { signal, timeout: taskRequestMs }));
        if (state === null) throw new UnreadableAnswer("tasks/get", "it is not the state of a task");
        return state;
      } catch (error) {
        failures += 1;
        if (signal.aborted || failures > taskFailuresMax || !isPassing(error)) throw error;
      }
    }
  }

  /** Shows what a task says of itself. */
  #note(task: TaskState): void {
    const { statusMessage } = task;
    if (statusMessage === null || statusMessage === this.#said) return;
    this.#said = statusMessage;
    this.#changes += 1;
    this.#request.onProgress({ progress: this.#changes, total: null, message: statusMessage });
  }

  async #resultOf(session: McpSession, task: TaskState, signal: AbortSignal): Promise<ReadResult> {
    if (!session.hasSessions && task.status === "failed") throw new ToolError(cutText(errorText(task.error)));
    if (!session.hasSessions) return readResult("tasks/get", task.result);
    return readResult(
      "tasks/result",
      await session.request("tasks/result", { taskId: task.taskId }, this.#watched(signal)),
    );
  }

  /** No person can be asked: a question to a person is declined, as in `declineInput`. */
  async #answer(session: McpSession, { taskId, inputRequests }: TaskState, signal: AbortSignal): Promise<void> {
    const isNew = ([key]: [string, unknown]) => !this.#answered.has(key);
    const asked = questionsIn(Object.fromEntries(Object.entries(inputRequests).filter(isNew)));
    if (asked.length === 0) return;
    const inputResponses = declined(asked);
    await session.request("tasks/update", { taskId, inputResponses }, { signal, timeout: taskRequestMs });
    for (const key of asked) this.#answered.add(key);
  }

  /** Tells the server that a task is not waited for any more; it may have ended already. */
  async #cancel(session: McpSession, { taskId }: TaskState): Promise<void> {
    const told = session.request("tasks/cancel", { taskId }, { timeout: noticeTimeoutMs }).then(
      () => {
        this.#mayRun = false;
      },
      () => {},
    );
    await waitAtMost(told, noticeTimeoutMs);
  }
}

/** Returns a value of a server as the result of a call. Throws `UnreadableAnswer`. */
function readResult(method: string, value: unknown): ReadResult {
  try {
    return asCallResult(value);
  } catch (error) {
    throw error instanceof Unreadable ? new UnreadableAnswer(method, error.message) : error;
  }
}

/** Whether a request about a task may be made again: its server was out of reach, and the task goes on without. */
function isPassing(error: unknown): boolean {
  if (error instanceof SessionLostError) return false;
  return failureOf(error).code === "mcp_connection_unreachable";
}

function errorText(error: unknown): string {
  return asText(asFields(error)?.message) ?? asText(error) ?? "The task of this call failed.";
}
