import { describe, expect, test } from "bun:test";
import { customDays, customName, daysIn, periodText, spanOf } from "../../src/console/parts/periods.ts";

/** In whatever zone the tests run: days and months are those of the reader. */
const now = new Date(2026, 2, 3, 10, 30);
const at = (...parts: [number, number, number]) => new Date(...parts);

describe("a time that a screen is about", () => {
  test("begins and ends with the reader's days, and has no end while it lasts", () => {
    expect(spanOf("hour", now)).toEqual({ from: new Date(now.getTime() - 3_600_000) });
    expect(spanOf("today", now)).toEqual({ from: at(2026, 2, 3) });
    expect(spanOf("yesterday", now)).toEqual({ from: at(2026, 2, 2), to: at(2026, 2, 3) });
    expect(spanOf("this-month", now)).toEqual({ from: at(2026, 2, 1) });
    expect(spanOf("last-month", now)).toEqual({ from: at(2026, 1, 1), to: at(2026, 2, 1) });
    expect(spanOf("2025-12", now)).toEqual({ from: at(2025, 11, 1), to: at(2026, 0, 1) });
    expect(spanOf("2026-02-27..2026-02-28", now)).toEqual({ from: at(2026, 1, 27), to: at(2026, 2, 1) });
    expect(
      [undefined, "ever", "2026-13", "2026-02-28..2026-02-27", "2026-02-31..2026-03-02", "..", "a..b"].map((name) =>
        spanOf(name, now),
      ),
    ).toEqual(Array(7).fill(null));
  });

  test("has whole days for reports that are by the day", () => {
    expect(daysIn("this-month", now)).toEqual({ from: "2026-03-01", to: "2026-03-03" });
    expect(daysIn("last-month", now)).toEqual({ from: "2026-02-01", to: "2026-02-28" });
    expect(daysIn("month", now)).toEqual({ from: "2026-02-01", to: "2026-03-03" });
    expect(daysIn("week", now)).toEqual({ from: "2026-02-25", to: "2026-03-03" });
    expect(daysIn("hour", now)).toBeNull();
  });

  test("is called by its name, or by its days", () => {
    const days = { from: "2026-02-27", to: "2026-02-28" };
    expect(customDays(customName(days))).toEqual(days);
    expect([periodText("last-month"), periodText("ever"), periodText(undefined)]).toEqual(["Last month", null, null]);
    expect(periodText("2025-12")).toContain("2025");
    expect(periodText(customName(days))).toContain("–");
  });
});
