import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, type ErrorCause, invalid } from "../kernel/errors.ts";
import { operation, Reply } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { MessagesQuery } from "../sessions/schema.ts";
import { cancelRun } from "./cancel.ts";
import { queueRun } from "./queue-run.ts";
import {
  TaskCreatedResponse,
  TaskListResponse,
  TaskResponse,
  TaskRunListResponse,
  TaskRunMessagesResponse,
  TaskRunResponse,
  TaskRunStartedResponse,
} from "./responses.ts";
import { findRunOf, listRuns } from "./runs.ts";
import { RunListQuery, RunStart, runPath, TaskCreate, TaskListQuery, TaskUpdate, taskPath } from "./schema.ts";
import { showListedTask, showRun, showTask, showTranscript } from "./show.ts";
import { createTask, deleteTask, getTask, listTasks, updateTask } from "./store.ts";

/** The errors of starting a run beyond the shared ones. */
const startErrors: readonly ErrorCause[] = [
  "not_found",
  "version_missing_for_run",
  "agent_disabled",
  "admin_agent_managed",
  "tenant_deleting",
];

/** Tasks and their runs: `/v1/tasks`. */
export function taskRoutes(ctx: Ctx) {
  return new Elysia().use(recordRoutes(ctx)).use(runRoutes(ctx));
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/tasks" })
    .get(
      "",
      operation(ctx, {
        id: "tasks.list",
        summary: "List tasks",
        query: TaskListQuery,
        success: 200,
        response: TaskListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, query }) => {
          const { agentId, userId, cursor } = query;
          return listTasks(sql, tenantId, { agentId, userId, cursor, limit: readLimit(query.limit) }, showListedTask);
        },
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "tasks.create",
        summary: "Create a task, and with `submit` start a run of it",
        body: TaskCreate,
        success: 201,
        response: TaskCreatedResponse,
        otherwise: { 202: TaskCreatedResponse },
        errors: startErrors,
        handle: async ({ sql, tenantId, principal, body, requestId }) => {
          const { tenant } = principal;
          if (body.submit !== true)
            return { task: showTask(await createTask(sql, tenantId, body, new Date())), runId: null };
          return tx(sql, async (inner) => {
            const { id } = await createTask(inner, tenantId, body, new Date());
            const runId = await queueRun(inner, { tenant, taskId: id, idempotencyKey: null, requestId });
            return new Reply({ task: showTask(await getTask(inner, tenantId, id)), runId }, { status: 202 });
          });
        },
      }),
    )
    .get(
      "/:taskId",
      operation(ctx, {
        id: "tasks.get",
        summary: "Read a task",
        params: taskPath,
        success: 200,
        response: TaskResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params }) => showTask(await getTask(sql, tenantId, params.taskId)),
      }),
    )
    .patch(
      "/:taskId",
      operation(ctx, {
        id: "tasks.update",
        summary: "Change a task",
        params: taskPath,
        body: TaskUpdate,
        success: 200,
        response: TaskResponse,
        errors: ["not_found", "version_missing_for_run"],
        handle: async ({ sql, tenantId, params, body }) =>
          showTask(await updateTask(sql, tenantId, params.taskId, body, new Date())),
      }),
    )
    .delete(
      "/:taskId",
      operation(ctx, {
        id: "tasks.delete",
        summary: "Delete a task; its runs and their sessions stay",
        params: taskPath,
        success: 204,
        errors: ["not_found", "task_active_run_exists"],
        handle: ({ sql, tenantId, params }) => deleteTask(sql, tenantId, params.taskId),
      }),
    );
}

function runRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/tasks/:taskId/runs" })
    .get(
      "",
      operation(ctx, {
        id: "taskRuns.list",
        summary: "List a task's runs",
        params: taskPath,
        query: RunListQuery,
        success: 200,
        response: TaskRunListResponse,
        errors: ["invalid_cursor", "not_found"],
        handle: async ({ sql, tenantId, form, params, query }) => {
          const limit = readLimit(query.limit);
          await getTask(sql, tenantId, params.taskId);
          return listRuns(sql, params.taskId, { cursor: query.cursor, limit }, (run) => showRun(run, form));
        },
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "taskRuns.start",
        summary: "Start a run",
        params: taskPath,
        body: RunStart,
        success: 202,
        response: TaskRunStartedResponse,
        errors: [...startErrors, "task_active_run_exists"],
        handle: async ({ sql, principal, params, body, requestId }) => ({
          runId: await queueRun(sql, {
            tenant: principal.tenant,
            taskId: params.taskId,
            idempotencyKey: body.idempotencyKey ?? null,
            requestId,
          }),
        }),
      }),
    )
    .get(
      "/:runId",
      operation(ctx, {
        id: "taskRuns.get",
        summary: "Read a run",
        params: runPath,
        success: 200,
        response: TaskRunResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, form, params }) => {
          await getTask(sql, tenantId, params.taskId);
          return showRun(foundRun(await findRunOf(sql, params.taskId, params.runId)), form);
        },
      }),
    )
    .get(
      "/:runId/messages",
      operation(ctx, {
        id: "taskRuns.listMessages",
        summary: "Read a run's transcript and how far the run is",
        params: runPath,
        query: MessagesQuery,
        success: 200,
        response: TaskRunMessagesResponse,
        errors: ["invalid_cursor", "not_found"],
        handle: async ({ sql, tenantId, form, params, query: { cursor, after, limit } }) => {
          if (cursor !== undefined && after !== undefined) throw invalid("after", "and cursor exclude each other");
          const rows = readLimit(limit);
          await getTask(sql, tenantId, params.taskId);
          const run = foundRun(await findRunOf(sql, params.taskId, params.runId));
          return showTranscript(sql, run, { cursor, after, limit: rows }, form);
        },
      }),
    )
    .post(
      "/:runId/cancel",
      operation(ctx, {
        id: "taskRuns.cancel",
        summary: "Cancel a run",
        params: runPath,
        success: 204,
        errors: ["not_found"],
        // A repeat has nothing left to do, so no response needs to be kept.
        idempotency: "own",
        handle: ({ tenantId, params }) => cancelRun(ctx, tenantId, params.taskId, params.runId),
      }),
    );
}

function foundRun<T>(run: T | null): T {
  if (run === null) throw new ApiError("not_found");
  return run;
}
