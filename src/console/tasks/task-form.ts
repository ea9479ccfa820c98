import { Cron } from "croner";
import type { Task, TaskUpdate } from "parley/client";
import { jsonText, readJsonText } from "../parts/json-text.ts";
import { cronWords } from "./cron-words.ts";

type TaskSchedule = Task["schedule"];

/** What a person edits of a task. */
export interface TaskForm {
  readonly name: string;
  readonly prompt: string;
  readonly enabled: boolean;
  readonly kind: string;
  readonly at: string;
  readonly every: string;
  readonly unit: string;
  readonly expression: string;
  readonly timezone: string;
  readonly metadata: string;
}

/** The units of an interval, in milliseconds. */
export const intervalUnits = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;

/** The form of a new task; a schedule would be read in the reader's own zone. */
export function newTask(timezone: string): TaskForm {
  return {
    ...{ name: "", prompt: "", enabled: true, metadata: "" },
    ...{ kind: "none", at: "", every: "60", unit: "minutes", expression: "0 8 * * MON-FRI", timezone },
  };
}

/** Returns the form of a task. */
export function formOfTask(task: Task, timezone: string): TaskForm {
  const { schedule } = task;
  const form = {
    ...newTask(timezone),
    ...{ name: task.name, prompt: task.prompt, enabled: task.enabled, metadata: jsonText(task.metadata) },
    kind: schedule?.kind ?? "none",
  };
  if (schedule?.kind === "once") return { ...form, at: localMoment(schedule.config.at) };
  if (schedule?.kind === "cron") return { ...form, ...schedule.config };
  if (schedule?.kind === "interval") return { ...form, ...intervalWords(schedule.config.everyMs) };
  return form;
}

/** Returns what the form says, for a task that is made or changed. Throws `ParleyError` for metadata that is no JSON. */
export function taskOfForm(form: TaskForm): TaskUpdate & { readonly name: string; readonly prompt: string } {
  return {
    ...{ name: form.name, prompt: form.prompt, enabled: form.enabled },
    schedule: scheduleOf(form),
    metadata: readJsonText("metadata", form.metadata, {}),
  };
}

/** Returns the schedule that a form means; null for none. */
export function scheduleOf({ kind, at, every, unit, expression, timezone }: TaskForm): TaskSchedule {
  switch (kind) {
    case "once":
      return { kind: "once", config: { at: Number.isNaN(Date.parse(at)) ? at : new Date(at).toISOString() } };
    case "interval":
      return {
        kind: "interval",
        config: { everyMs: Number(every) * intervalUnits[unit as keyof typeof intervalUnits] },
      };
    case "cron":
      return { kind: "cron", config: { expression: expression.trim(), timezone: timezone.trim() } };
    default:
      return null;
  }
}

/** Says a schedule in words. */
export function scheduleText(schedule: TaskSchedule): string {
  if (schedule === null) return "when it is started";
  if (schedule.kind === "once") return "once";
  if (schedule.kind === "cron") {
    const { expression, timezone } = schedule.config;
    return `${cronWords(expression) ?? expression} (${timezone})`;
  }
  const { every, unit } = intervalWords(schedule.config.everyMs);
  return every === "1" ? `every ${unit.slice(0, -1)}` : `every ${every} ${unit}`;
}

/** Returns the next moments at which a schedule by the calendar fires; none for the other kinds, or what is no such schedule. */
export function nextFires(schedule: TaskSchedule, now: Date, count: number): Date[] {
  if (schedule?.kind === "once") {
    const at = new Date(schedule.config.at);
    return at > now ? [at] : [];
  }
  if (schedule?.kind !== "cron") return [];
  try {
    const { expression, timezone } = schedule.config;
    return new Cron(expression, { timezone }).nextRuns(count, now);
  } catch {
    return [];
  }
}

function intervalWords(everyMs: number): { every: string; unit: string } {
  const unit = (["days", "hours"] as const).find((name) => everyMs % intervalUnits[name] === 0) ?? "minutes";
  return { every: String(everyMs / intervalUnits[unit]), unit };
}

/** A moment as `datetime-local` fields write it, in the reader's zone. */
function localMoment(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
