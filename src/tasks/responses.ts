import { Type } from "@sinclair/typebox";
import { Closed, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { attribution, Failure, MomentOrNull, pageOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { messagePage } from "../sessions/responses.ts";
import { ScheduleField } from "./schedule.ts";

/** The response schemas of operations on tasks and runs, for the OpenAPI document. */
const RunStatus = OneOf("queued", "running", "blocked", "succeeded", "failed", "canceled");
const task = {
  id: Id("task"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  agentVersion: Nullable(Type.Integer()),
  name: Text,
  prompt: Text,
  schedule: ScheduleField,
  enabled: Type.Boolean(),
  activeRunId: Nullable(Id("taskRun")),
  latestRunId: Nullable(Id("taskRun")),
  ...attribution,
  deletedAt: MomentOrNull,
  ...times,
};
export const TaskResponse = Closed(task);
export const TaskListResponse = pageOf(
  Closed({
    ...task,
    latestRun: Nullable(Closed({ id: Id("taskRun"), status: RunStatus, finishedAt: MomentOrNull })),
  }),
);
export const TaskCreatedResponse = Closed({ task: TaskResponse, runId: Nullable(Id("taskRun")) });
export const TaskRunStartedResponse = Closed({ runId: Id("taskRun") });
export const TaskRunResponse = Closed({
  id: Id("taskRun"),
  taskId: Id("task"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  agentVersion: Type.Integer(),
  sessionId: Nullable(Id("session")),
  turnId: Nullable(Id("turn")),
  status: RunStatus,
  error: Nullable(Failure),
  ...attribution,
  startedAt: MomentOrNull,
  finishedAt: MomentOrNull,
  cancelRequestedAt: MomentOrNull,
  canceledAt: MomentOrNull,
  ...times,
});
export const TaskRunListResponse = pageOf(TaskRunResponse);
export const TaskRunMessagesResponse = Closed({
  ...messagePage,
  status: RunStatus,
  error: Nullable(Failure),
  finishedAt: MomentOrNull,
});
