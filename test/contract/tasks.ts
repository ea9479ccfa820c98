import { type Contract, cap, characters, metadata, number, pageLimit, responseFormat, userId } from "./contract.ts";

const task = { taskId: ["tk", "404 not_found"] } as const;
const run = { ...task, runId: ["tr", "404 not_found"] } as const;
const cursor = "400 invalid_cursor | 400 invalid_request";
const version = "404 agent_version_not_found | 404 AGENT_VERSION_NOT_FOUND";
const start = [version, "409 agent_disabled | 409 AGENT_DISABLED", "409 tenant_deleting"];
const managed = "409 admin_agent_managed | 409 ADMIN_AGENT_MANAGED";
const active = "409 task_active_run_exists";
const fields = [
  characters("/name", 1, 80),
  characters("/prompt", 1, 6000),
  number("/agentVersion", 1, 2_147_483_647),
  number("/schedule/config/everyMs", 60_000),
  metadata,
  ...responseFormat,
];

/** Tasks, schedules and runs: docs/decisions/tasks.md. */
export const tasks: readonly Contract[] = [
  { op: "GET /v1/tasks", success: [200], shape: "TaskPage", errors: [cursor], limits: [pageLimit(200)] },
  {
    op: "POST /v1/tasks",
    stores: true,
    success: [201, 202],
    shape: "TaskMade",
    body: "json",
    required: ["agentId", "name", "prompt"],
    key: "response",
    errors: ["400 invalid_request", "404 not_found", managed, ...start],
    limits: [...fields, userId, cap("tasks per tenant", 1_000, "400 invalid_request")],
  },
  { op: "GET /v1/tasks/:taskId", success: [200], shape: "Task", ids: task, errors: [] },
  {
    op: "PATCH /v1/tasks/:taskId",
    stores: true,
    success: [200],
    shape: "Task",
    ids: task,
    body: "json",
    errors: [version],
    limits: fields,
  },
  { op: "DELETE /v1/tasks/:taskId", success: [204], shape: null, ids: task, errors: [active] },
  {
    op: "GET /v1/tasks/:taskId/runs",
    success: [200],
    shape: "RunPage",
    ids: task,
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "POST /v1/tasks/:taskId/runs",
    success: [202],
    shape: "RunStarted",
    ids: task,
    body: "json",
    key: "response",
    errors: [active, ...start],
    limits: [characters("/idempotencyKey", 1, 255)],
  },
  { op: "GET /v1/tasks/:taskId/runs/:runId", success: [200], shape: "Run", ids: run, errors: [] },
  {
    op: "GET /v1/tasks/:taskId/runs/:runId/messages",
    success: [200],
    shape: "RunTranscript",
    ids: run,
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "POST /v1/tasks/:taskId/runs/:runId/cancel",
    success: [204],
    shape: null,
    ids: { ...task, runId: ["tr", null] },
    errors: [],
  },
];
