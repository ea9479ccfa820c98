import { describe, expect, test } from "bun:test";
import type { Task } from "parley/client";
import { cronWords } from "../../src/console/tasks/cron-words.ts";
import {
  formOfTask,
  newTask,
  nextFires,
  scheduleOf,
  scheduleText,
  taskOfForm,
} from "../../src/console/tasks/task-form.ts";

const task = (schedule: Task["schedule"]): Task => ({
  ...{ id: "task_1", tenantId: "ten_1", agentId: "ag_1", agentVersion: null, name: "Morning", prompt: "Say so." },
  ...{ schedule, enabled: true, activeRunId: null, latestRunId: null, userId: "", metadata: {}, responseFormat: null },
  ...{ deletedAt: null, createdAt: "2026-03-01T00:00:00Z", updatedAt: "2026-03-01T00:00:00Z" },
});
const cron = (expression: string, timezone = "Europe/Berlin") =>
  ({ kind: "cron", config: { expression, timezone } }) as const;

describe("the form of a task", () => {
  test("holds every kind of schedule, and gives it back", () => {
    for (const schedule of [
      null,
      { kind: "once", config: { at: "2026-03-01T08:30:00.000Z" } },
      { kind: "interval", config: { everyMs: 90 * 60_000 } },
      { kind: "interval", config: { everyMs: 48 * 3_600_000 } },
      cron("0 8 * * MON-FRI"),
    ] as const) {
      const { name, prompt, metadata, enabled } = task(schedule);
      expect(taskOfForm(formOfTask(task(schedule), "UTC"))).toEqual({ name, prompt, metadata, enabled, schedule });
    }
  });

  test("sends a moment that is none as it is written, so that the service says what is wrong with it", () => {
    expect(scheduleOf({ ...newTask("UTC"), kind: "once", at: "soon" })).toEqual({
      kind: "once",
      config: { at: "soon" },
    });
  });
});

describe("a schedule", () => {
  test("is said in words", () => {
    expect(scheduleText(null)).toBe("when it is started");
    expect(scheduleText({ kind: "interval", config: { everyMs: 3_600_000 } })).toBe("every hour");
    expect(scheduleText({ kind: "interval", config: { everyMs: 90 * 60_000 } })).toBe("every 90 minutes");
    expect(scheduleText(cron("0 8 * * *"))).toBe("daily at 08:00 (Europe/Berlin)");
    expect(scheduleText(cron("5 4 1-7 * *"))).toBe("5 4 1-7 * * (Europe/Berlin)");
    const words = ["30 7 * * MON-FRI", "0 9 * * 1,TUE", "0 6 1 * *", "*/15 * * * *", "5 * * * *", "0 8 * * 1#2"];
    expect(words.map(cronWords)).toEqual([
      ...["weekdays at 07:30", "Mondays, Tuesdays at 09:00", "day 1 of each month at 06:00", "every 15 minutes"],
      ...["every hour at :05", null],
    ]);
  });

  test("shows when it fires next, over the change of the clocks too, and nothing where it does not", () => {
    const fires = nextFires(cron("0 8 * * *"), new Date("2026-03-28T00:00:00Z"), 2);
    expect(fires.map((at) => at.toISOString())).toEqual(["2026-03-28T07:00:00.000Z", "2026-03-29T06:00:00.000Z"]);
    const now = new Date("2026-03-28T00:00:00Z");
    expect(nextFires(cron("every morning"), now, 2)).toEqual([]);
    expect(nextFires(cron("0 8 * * *", "Mars/Olympus"), now, 2)).toEqual([]);
    expect(nextFires({ kind: "once", config: { at: "2026-03-01T00:00:00Z" } }, now, 2)).toEqual([]);
  });
});
