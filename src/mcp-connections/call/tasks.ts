import { asFields, asText, type JsonFields } from "../wire/fields.ts";

/**
 * Tasks: calls that a server runs beside the request that began them. Revision 2025-11-25 has
 * them as a part of the protocol, 2026-07-28 as an extension; the client library has no
 * functions for either (2.4.0), only the words of the first.
 */

/** The extension by which a client of revision 2026-07-28 says that it knows tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

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
  /** By the server's key for each. */
  readonly inputRequests: JsonFields;
}

const statuses = new Set<unknown>(["working", "input_required", "completed", "failed", "cancelled"]);

/** Returns a value of a server as the state of a task; null when it is none. */
export function asTask(value: unknown): TaskState | null {
  const fields = asFields(value);
  if (fields === null) return null;
  const { status, statusMessage, pollInterval, pollIntervalMs, result, error, inputRequests } = fields;
  const taskId = asText(fields.taskId);
  if (taskId === null || !statuses.has(status)) return null;
  const pollMs = pollIntervalMs ?? pollInterval;
  return {
    taskId,
    status: status as TaskState["status"],
    statusMessage: typeof statusMessage === "string" ? statusMessage : null,
    pollMs: typeof pollMs === "number" && pollMs > 0 ? pollMs : null,
    result,
    error,
    inputRequests: asFields(inputRequests) ?? {},
  };
}

/** Returns the task that a call's result says was begun; null when the result is that of the call. */
export function beganTask(result: unknown): TaskState | null {
  const fields = asFields(result);
  if (fields === null) return null;
  // Revision 2025-11-25 has the task in the result, 2026-07-28 as the result.
  return asTask(fields.task) ?? (fields.resultType === "task" ? asTask(fields) : null);
}
