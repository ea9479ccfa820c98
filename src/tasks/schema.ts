import { type Static, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { pathIds } from "../kernel/http/operation.ts";
import {
  Change,
  Characters,
  Closed,
  Metadata,
  Name,
  Nullable,
  pageQuery,
  UserId,
} from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { ResponseFormatField } from "../sessions/response-format.ts";
import { VersionNumber } from "../sessions/schema.ts";
import { ScheduleField } from "./schedule.ts";

/** A tenant has at most this many tasks. */
export const tasksPerTenantMax = 1_000;
/** A prompt has at most this many characters. */
const promptCharactersMax = 6_000;
/** A run's idempotency key has at most this many characters. */
const runKeyCharactersMax = 255;

const Prompt = example(Characters({ min: 1, max: promptCharactersMax }), "Sum up what came in over night.");
const TaskName = example(Name, "Morning report");

export const TaskCreate = Component("TaskCreate", {
  agentId: Id("agent"),
  agentVersion: Type.Optional(Nullable(VersionNumber)),
  name: TaskName,
  prompt: Prompt,
  schedule: Type.Optional(ScheduleField),
  enabled: Type.Optional(Type.Boolean()),
  submit: Type.Optional(Type.Boolean()),
  responseFormat: Type.Optional(Nullable(ResponseFormatField)),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
});

export const TaskUpdate = Change("TaskUpdate", {
  agentVersion: Nullable(VersionNumber),
  name: TaskName,
  prompt: Prompt,
  schedule: ScheduleField,
  enabled: Type.Boolean(),
  metadata: Metadata,
  responseFormat: Nullable(ResponseFormatField),
});

export const RunStart = Component("TaskRunStart", {
  idempotencyKey: Type.Optional(Characters({ min: 1, max: runKeyCharactersMax })),
});

export const TaskListQuery = Closed({
  ...pageQuery,
  agentId: Type.Optional(Id("agent")),
  userId: Type.Optional(Type.String()),
});
export const RunListQuery = Closed(pageQuery);

export const taskPath = pathIds({ taskId: Id("task") });
export const runPath = pathIds({ taskId: Id("task"), runId: Id("taskRun") });

export type TaskFields = Static<typeof TaskCreate>;
export type TaskChanges = Static<typeof TaskUpdate>;
