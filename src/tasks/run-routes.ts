import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { unaudited } from "../kernel/http/audit-trail.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { MessagesQuery } from "../sessions/schema.ts";
import { cancelRun } from "./cancel.ts";
import { queueRun, startErrors } from "./queue-run.ts";
import { TaskRunListResponse, TaskRunMessagesResponse, TaskRunResponse, TaskRunStartedResponse } from "./responses.ts";
import { findRunOf, listRuns } from "./runs.ts";
import { RunListQuery, RunStart, runPath, taskPath } from "./schema.ts";
import { showRun, showTranscript } from "./show.ts";
import { getTask } from "./store.ts";

/** Runs of a task: `/v1/tasks/{taskId}/runs`. */
export function runRoutes(ctx: Ctx) {
  return new Elysia().use(collectionRoutes(ctx)).use(recordRoutes(ctx));
}

function collectionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/tasks/:taskId/runs" })
    .get(
      "",
      operation(ctx, {
        id: "taskRuns.list",
        role: "reader",
        reads: "replica",
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
        role: "runner",
        stores: "body",
        audit: unaudited,
        summary: "Start a run",
        params: taskPath,
        body: RunStart,
        success: 202,
        response: TaskRunStartedResponse,
        errors: [...startErrors, "task_active_run_exists"],
        handle: ({ commit, principal, params, body, requestId }) => {
          const { idempotencyKey = null } = body;
          const run = { tenant: principal.tenant, taskId: params.taskId, idempotencyKey, requestId };
          return commit(async (inner) => ({ runId: await queueRun(inner, run) }));
        },
      }),
    );
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/tasks/:taskId/runs/:runId" })
    .get(
      "",
      operation(ctx, {
        id: "taskRuns.get",
        role: "reader",
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
      "/messages",
      operation(ctx, {
        id: "taskRuns.listMessages",
        role: "reader",
        reads: "replica",
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
          return showTranscript(sql, tenantId, run, { cursor, after, limit: rows }, form);
        },
      }),
    )
    .post(
      "/cancel",
      operation(ctx, {
        id: "taskRuns.cancel",
        role: "runner",
        audit: unaudited,
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
