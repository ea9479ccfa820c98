import { Type } from "@sinclair/typebox";
import { Component, component, example } from "../kernel/http/component.ts";
import { Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, Failure, MomentOrNull, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { ResponseFormatField } from "../sessions/response-format.ts";
import { messagePage } from "../sessions/routes/responses.ts";
import { ScheduleField } from "./schedule.ts";

/** What operations on tasks and runs respond with, for the OpenAPI document. */
const RunStatus = component(
  "TaskRunStatus",
  example(OneOf("queued", "running", "blocked", "succeeded", "failed", "canceled"), "succeeded"),
);
const task = {
  id: Id("task"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  agentVersion: example(Nullable(Type.Integer()), null),
  name: example(Text, "Morning report"),
  prompt: example(Text, "Sum up what came in over night."),
  schedule: ScheduleField,
  enabled: Type.Boolean(),
  activeRunId: example(Nullable(Id("taskRun")), null),
  latestRunId: Nullable(Id("taskRun")),
  ...attribution,
  responseFormat: example(Nullable(ResponseFormatField), null),
  deletedAt: example(MomentOrNull, null),
  ...times,
};
const error = example(Nullable(Failure), null);

export const TaskResponse = Component("Task", task);
export const TaskListResponse = pageOf(
  "TaskPage",
  Component("TaskSummary", {
    ...task,
    latestRun: Nullable(Component("LatestTaskRun", { id: Id("taskRun"), status: RunStatus, finishedAt: MomentOrNull })),
  }),
);
export const TaskCreatedResponse = Component("TaskCreated", {
  task: TaskResponse,
  runId: example(Nullable(Id("taskRun")), null),
});
export const TaskRunStartedResponse = Component("TaskRunStarted", { runId: Id("taskRun") });
export const TaskRunResponse = Component("TaskRun", {
  id: Id("taskRun"),
  taskId: Id("task"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  agentVersion: Type.Integer(),
  sessionId: Nullable(Id("session")),
  turnId: Nullable(Id("turn")),
  status: RunStatus,
  error,
  ...attribution,
  startedAt: MomentOrNull,
  finishedAt: MomentOrNull,
  cancelRequestedAt: example(MomentOrNull, null),
  canceledAt: example(MomentOrNull, null),
  ...times,
});
export const TaskRunListResponse = pageOf("TaskRunPage", TaskRunResponse);
export const TaskRunMessagesResponse = Component("TaskRunMessages", {
  ...messagePage,
  status: RunStatus,
  error,
  finishedAt: MomentOrNull,
});
