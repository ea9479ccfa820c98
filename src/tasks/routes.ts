import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { databaseNow } from "../kernel/database/now.ts";
import { invalid } from "../kernel/errors.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Reply } from "../kernel/http/reply.ts";
import { isBlank } from "../messages/blank.ts";
import { queueRun, startErrors } from "./queue-run.ts";
import { TaskCreatedResponse, TaskListResponse, TaskResponse } from "./responses.ts";
import { runRoutes } from "./run-routes.ts";
import { TaskCreate, TaskListQuery, TaskUpdate, taskPath } from "./schema.ts";
import { showListedTask, showTask } from "./show.ts";
import { createTask, deleteTask, getTask, listTasks, lockTask, updateTask } from "./store.ts";

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
        role: "reader",
        reads: "replica",
        summary: "List tasks",
        query: TaskListQuery,
        success: 200,
        response: TaskListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, principal: { agentIds }, query }) => {
          const { agentId, userId, cursor } = query;
          const filter = { agentId, agentIds, userId, cursor, limit: readLimit(query.limit) };
          return listTasks(sql, tenantId, filter, showListedTask);
        },
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "tasks.create",
        role: "editor",
        stores: "body",
        audit: "task.create",
        summary: "Create a task, and with `submit` start a run of it",
        body: TaskCreate,
        success: 201,
        response: TaskCreatedResponse,
        otherwise: { 202: TaskCreatedResponse },
        errors: ["invalid_request", ...startErrors],
        handle: ({ commit, tenantId, principal, body, requestId }) =>
          commit(async (inner) => {
            checkPrompt(body.prompt);
            const task = await createTask(inner, tenantId, body, await databaseNow(inner));
            if (body.submit !== true) return { task: showTask(task), runId: null };
            const run = { tenant: principal.tenant, taskId: task.id, idempotencyKey: null, requestId };
            const runId = await queueRun(inner, run);
            return new Reply({ task: showTask(await getTask(inner, tenantId, task.id)), runId }, { status: 202 });
          }),
      }),
    )
    .use(oneTaskRoutes(ctx));
}

function oneTaskRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:taskId",
      operation(ctx, {
        id: "tasks.get",
        role: "reader",
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
        role: "editor",
        stores: "body",
        audit: "task.update",
        summary: "Change a task",
        params: taskPath,
        body: TaskUpdate,
        success: 200,
        response: TaskResponse,
        errors: ["not_found", "version_missing_for_run"],
        handle: ({ commit, tenantId, params, body }) =>
          commit(async (inner, note) => {
            note.before = showTask(await lockTask(inner, tenantId, params.taskId));
            checkPrompt(body.prompt);
            return showTask(await updateTask(inner, tenantId, params.taskId, body, await databaseNow(inner)));
          }),
      }),
    )
    .delete(
      "/:taskId",
      operation(ctx, {
        id: "tasks.delete",
        role: "editor",
        audit: "task.delete",
        summary: "Delete a task; its runs and their sessions stay",
        params: taskPath,
        success: 204,
        errors: ["not_found", "task_active_run_exists"],
        handle: ({ commit, tenantId, params }) => commit((inner) => deleteTask(inner, tenantId, params.taskId)),
      }),
    );
}

/** Throws 400 for a prompt without a word, which no run could send to a model. */
function checkPrompt(prompt: string | undefined): void {
  if (prompt !== undefined && isBlank(prompt)) throw invalid("/prompt", "must have a text that is not blank");
}
