import { type CallToolResult, isToolResult, type JSONRPCMessage } from "./sdk.ts";

/**
 * Tasks: calls that a server runs beside the request that began them. Revision 2025-11-25 has
 * them as a part of the protocol, 2026-07-28 as an extension; the client library has no
 * functions for either (2.4.0), only the words of the first.
 */

/** The extension by which a client of revision 2026-07-28 says that it knows tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** Under this key of `_meta` a result holds the task that a server began in its place. */
const taskKey = "parley/task";

/** How a task stands. */
export interface TaskState {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly statusMessage: string | null;
  /** Null: the server does not say how often it is to be asked. */
  readonly pollMs: number | null;
  /** Of revision 2026-07-28, where the state holds what came of the call. */
  readonly result: unknown;
  readonly error: unknown;
  readonly inputRequests: Readonly<Record<string, { readonly method?: unknown }>>;
}

const statuses = new Set<unknown>(["working", "input_required", "completed", "failed", "cancelled"]);

/** Returns a value of a server as the state of a task; null when it is none. */
export function asTask(value: unknown): TaskState | null {
  if (typeof value !== "object" || value === null) return null;
  const { taskId, status, statusMessage, pollInterval, pollIntervalMs, result, error, inputRequests } = value as Record<
    string,
    unknown
  >;
  if (typeof taskId !== "string" || taskId === "" || !statuses.has(status)) return null;
  const pollMs = pollIntervalMs ?? pollInterval;
  return {
    taskId,
    status: status as TaskState["status"],
    statusMessage: typeof statusMessage === "string" ? statusMessage : null,
    pollMs: typeof pollMs === "number" && pollMs > 0 ? pollMs : null,
    result,
    error,
    inputRequests: (inputRequests ?? {}) as TaskState["inputRequests"],
  };
}

/**
 * Returns a message of a server in words that the client library lets pass: it refuses a result
 * of type `task` (revision 2026-07-28), so the task goes into the `_meta` of an empty result.
 */
export function withTaskInMeta(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message)) return message;
  const { resultType, ...task } = message.result as Record<string, unknown>;
  if (resultType !== "task") return message;
  const result = { resultType: "complete", content: [], _meta: { [taskKey]: task } };
  return { ...message, result } as JSONRPCMessage;
}

/** Returns the task that a call's result says was begun; null when the result is that of the call. */
export function beganTask(result: Readonly<Record<string, unknown>>): TaskState | null {
  const meta = result._meta as Readonly<Record<string, unknown>> | undefined;
  return asTask(result.task) ?? asTask(meta?.[taskKey]);
}

/** Returns a value of a server as the result of a call; null when it is none. */
export function asToolResult(value: unknown): CallToolResult | null {
  return isToolResult(value) ? value : null;
}
