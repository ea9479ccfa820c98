import { describe, expect, test } from "bun:test";
import { discardedText, discardMeaning } from "../../src/console/operator/discard-words.ts";
import { changedLimits, endedText, formOfLimits } from "../../src/console/operator/limit-form.ts";

const limits = {
  ...{ usageCredit: 100, quotaTurnsPerDay: null, rateLimit: null },
  ...{ runningTurns: 5, queuedTurns: 10_000, storedMib: null, weight: 1 },
};

describe("the form of a tenant's limits", () => {
  test("sends what was changed only, and no limit for an empty field", () => {
    const form = formOfLimits(limits);
    expect(changedLimits(form, limits)).toEqual({});
    expect(changedLimits({ ...form, runningTurns: " ", weight: "3", quotaTurnsPerDay: " 7 " }, limits)).toEqual({
      runningTurns: null,
      weight: 3,
      quotaTurnsPerDay: 7,
    });
  });

  test("sends what is no number as it is, for the service to refuse", () => {
    expect(changedLimits({ ...formOfLimits(limits), weight: "many", rateLimit: "1e999" }, limits)).toEqual({
      weight: "many",
      rateLimit: "1e999",
    });
  });
});

describe("what an operator is told", () => {
  test("of discarding, before and after", () => {
    expect(discardMeaning("turn")).toContain("ends as failed");
    expect(discardMeaning("task.fire")).toContain("goes on with the next");
    expect(discardMeaning("session.purge")).toContain("refused");
    expect(discardMeaning("constructor.purge")).toContain("refused");
    expect(discardMeaning("of another release")).toContain("Only the job goes");
    expect(discardedText("7", "run")).toBe("Job 7 is discarded, and its task's run has failed.");
  });

  test("of what was ended", () => {
    expect(endedText({ queued: 0, running: 0, waiting: 0, runs: 0 })).toBe("There was nothing to end.");
    expect(endedText({ queued: 1, running: 2, waiting: 0, runs: 1 })).toBe(
      "Ended: 3 turns (1 queued, 2 running, 0 waiting) and 1 run of tasks.",
    );
  });
});
