import { expect, test } from "bun:test";
import fc from "fast-check";
import { everMatches, openCron } from "../../src/tasks/cron.ts";
import { firstFire, readSchedule } from "../../src/tasks/schedule.ts";
import { longestStallMs } from "../harness/stall.ts";

const now = new Date("2026-11-26T05:00:00Z");
const first = (expression: string, timezone = "America/New_York") => {
  const schedule = readSchedule({ kind: "cron", config: { expression, timezone } });
  return schedule === null ? null : firstFire(schedule, now).toISOString();
};

test("an expression that never matches is refused without a search for its first fire", async () => {
  const never = ["0 0 31 2 *", "0 0 30 2 *", "0 0 30,31 FEB *", "* * 31 2,4,6,9,11 *", "0 0 31 APR,JUN *"];
  const stood = await longestStallMs(() => {
    for (let times = 0; times < 20; times++)
      for (const expression of never) expect(() => first(expression)).toThrow("matches no moment to come");
  });
  expect(stood).toBeLessThan(300);
});

test("a rare one has its first fire", () => {
  expect(first("0 0 29 2 *", "UTC")).toBe("2028-02-29T00:00:00.000Z");
  expect(first("59 23 31 12 *", "UTC")).toBe("2026-12-31T23:59:00.000Z");
  expect(first("0 0 31 4,5 *", "UTC")).toBe("2027-05-31T00:00:00.000Z");
  // A day of the month and one of the week: either.
  expect(first("0 0 31 2 1", "UTC")).toBe("2027-02-01T00:00:00.000Z");
  expect(first("0 0 31 2 */1", "UTC")).toBe("2027-02-01T00:00:00.000Z");
});

test("whether one ever matches is as the library finds by searching", () => {
  const days = fc.constantFrom("*", "1", "28", "29", "30", "31", "30-31", "29,31", "*/2");
  const months = fc.constantFrom("*", "2", "4", "FEB,APR", "1-3", "2,4,6,9,11", "*/2", "11");
  const weekdays = fc.constantFrom("*", "*", "*", "1", "MON-FRI", "*/1", "0-6", "7");
  fc.assert(
    fc.property(days, months, weekdays, (day, month, weekday) => {
      const expression = `0 0 ${day} ${month} ${weekday}`;
      const found = openCron(expression, "UTC").nextRun(now);
      expect([expression, everMatches(expression)]).toEqual([expression, found !== null]);
    }),
    { numRuns: 150 },
  );
}, 60_000);
