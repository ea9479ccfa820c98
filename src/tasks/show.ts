import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, type ErrorCause, errorCauses, type Form, spell } from "../kernel/errors.ts";
import { type MessagePage, messagesAfter, messagesBefore, respondPage } from "../sessions/transcript/message-page.ts";
import type { RunError, RunStatus } from "./run-states.ts";
import type { RunRow } from "./runs.ts";
import type { TaskRow } from "./store.ts";

/** Returns a task as responses show it. */
export function showTask(task: TaskRow) {
  const { createdAt, updatedAt } = task;
  return {
    id: task.id,
    tenantId: task.tenantId,
    agentId: task.agentId,
    agentVersion: task.agentVersion,
    name: task.name,
    prompt: task.prompt,
    schedule: task.schedule,
    enabled: task.enabled,
    activeRunId: isActive(task.latestRunStatus) ? task.latestRunId : null,
    latestRunId: task.latestRunId,
    userId: task.userId,
    metadata: task.metadata,
    responseFormat: task.responseFormat,
    // A deleted task is 404 everywhere.
    deletedAt: null,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** Returns a task as lists show it, with a summary of its newest run. */
export function showListedTask(task: TaskRow) {
  const { latestRunId: id, latestRunStatus: status, latestRunFinishedAt } = task;
  const latestRun = id === null ? null : { id, status, finishedAt: latestRunFinishedAt?.toISOString() ?? null };
  return { ...showTask(task), latestRun };
}

function isActive(status: RunStatus | null): boolean {
  return status === "queued" || status === "running";
}

/** Returns a run as responses show it. */
export function showRun(run: RunRow, form: Form) {
  return {
    id: run.id,
    taskId: run.taskId,
    tenantId: run.tenantId,
    agentId: run.agentId,
    agentVersion: run.agentVersion,
    sessionId: run.sessionId,
    turnId: run.turnId,
    status: run.status,
    error: showError(run.error, form),
    userId: run.userId,
    metadata: run.metadata,
    startedAt: run.startedAt?.toISOString() ?? null,
    finishedAt: run.finishedAt?.toISOString() ?? null,
    cancelRequestedAt: run.cancelRequestedAt?.toISOString() ?? null,
    canceledAt: run.canceledAt?.toISOString() ?? null,
    createdAt: run.createdAt.toISOString(),
    updatedAt: run.updatedAt.toISOString(),
  };
}

/** Returns a run's error with the form's code: the row holds the cause. */
function showError(error: RunError | null, form: Form): RunError | null {
  if (error === null) return null;
  const { code, message } = error;
  const isCause = (errorCauses as readonly string[]).includes(code);
  return { code: isCause ? spell(code as ErrorCause, form).code : code, message };
}

const emptyPage: MessagePage = { messages: [], nextCursor: null, latestCursor: null };

/**
 * Returns the response with a page of a run's transcript. The caller reads the run first, so that a run
 * whose response says that it has ended is complete.
 */
export async function showTranscript(
  sql: AnySql,
  tenantId: string,
  run: RunRow,
  asked: { cursor: string | undefined; after: string | undefined; limit: number },
  form: Form,
): Promise<Response> {
  const { status, finishedAt } = run;
  const state = { status, error: showError(run.error, form), finishedAt: finishedAt?.toISOString() ?? null };
  return respondPage(tenantId, (inPlace) => readPage(sql, run.sessionId, { ...asked, inPlace }), state);
}

async function readPage(
  sql: AnySql,
  sessionId: string | null,
  {
    cursor,
    after,
    ...reading
  }: { cursor: string | undefined; after: string | undefined; limit: number; inPlace: boolean },
): Promise<MessagePage | null> {
  if (sessionId === null) {
    // No response has contained a cursor yet.
    if (cursor !== undefined || after !== undefined) throw new ApiError("invalid_cursor");
    return emptyPage;
  }
  const [session] = await sql`select 1 from sessions where id = ${sessionId} and deleted_at is null`;
  if (session === undefined) return emptyPage;
  return after === undefined
    ? messagesBefore(sql, sessionId, cursor, reading)
    : messagesAfter(sql, sessionId, after, reading);
}
