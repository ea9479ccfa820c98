import { describe, expect, test } from "bun:test";
import { consolePath } from "../../src/console/api/fetch.ts";
import { fieldFaults } from "../../src/console/parts/field-faults.ts";
import { durationText, sinceText } from "../../src/console/parts/moment.ts";
import { isSafeLink } from "../../src/console/parts/safe-link.ts";
import { matchShortcut } from "../../src/console/parts/shortcuts.ts";
import { placeOf, rangeOf } from "../../src/console/parts/span-place.ts";

describe("what the console's parts compute", () => {
  test("an issue stands at the field that it is about, and the rest is said above the button", () => {
    const issues = [
      { path: "/name", message: "is required" },
      { path: "/tools/0", message: "is not known" },
      { path: "turnLimits.maxSeconds", message: "must be at least 1" },
      { path: "/secret", message: "is not a known field" },
      { path: "", message: "The body must be an object" },
    ];
    const { ofFields, others } = fieldFaults(issues, ["name", "tools", "turnLimits", "turnLimits.maxSeconds"]);
    expect(ofFields).toEqual({
      name: "is required",
      tools: "0 is not known",
      "turnLimits.maxSeconds": "must be at least 1",
    });
    expect(others).toEqual(["secret is not a known field.", "The body must be an object."]);
  });

  test("a field is not taken for one that begins like it", () => {
    expect(fieldFaults([{ path: "/names", message: "is too long" }], ["name"]).ofFields).toEqual({});
  });

  test("durations have the two largest units that fit, and times the largest", () => {
    expect([0, 999, 1500, 59_900, 61_000, 119_999, 7_200_000, 200_000_000].map(durationText)).toEqual([
      "0 ms",
      "999 ms",
      "1.5 s",
      "59 s",
      "1 min 1 s",
      "1 min 59 s",
      "2 h",
      "2 d 7 h",
    ]);
    const now = Date.parse("2026-01-01T12:00:00Z");
    expect(sinceText("2026-01-01T11:57:00Z", now)).toBe("3 min ago");
    expect(sinceText("2026-01-01T11:59:29.600Z", now)).toBe("30 s ago");
    expect(sinceText("2026-01-01T14:10:00Z", now)).toBe("in 2 h");
    expect(["2026-01-01T11:59:59.600Z", "2026-01-01T12:00:09Z"].map((at) => sinceText(at, now))).toEqual([
      "now",
      "now",
    ]);
    expect(sinceText("no time", now)).toBe("no time");
  });

  test("a model's link leads to the web or to mail only", () => {
    const links = [
      "https://a.example/",
      "http://a.example",
      "mailto:a@a.example",
      "javascript:alert(1)",
      "data:text/html,a",
    ];
    expect(links.map(isSafeLink)).toEqual([true, true, true, false, false]);
    expect(
      ["JaVaScript:alert(1)", " javascript:alert(1)", "//a.example", "/console/api/logout", ""].some(isSafeLink),
    ).toBe(false);
  });

  test("two keys lead to a screen, and one alone does what it does", () => {
    const shortcuts = [{ keys: "ga" }, { keys: "a" }, { keys: "?" }];
    expect(matchShortcut(shortcuts, "g", "a")?.keys).toBe("ga");
    expect(matchShortcut(shortcuts, "", "a")?.keys).toBe("a");
    expect(matchShortcut(shortcuts, "x", "?")?.keys).toBe("?");
    expect(matchShortcut(shortcuts, "", "g")).toBeUndefined();
  });

  test("a bar begins and ends where its time does, within what is drawn", () => {
    const spans = [
      { from: "2026-01-01T00:00:00Z", until: "2026-01-01T00:00:10Z" },
      { from: "2026-01-01T00:00:05Z", until: null },
    ];
    const now = Date.parse("2026-01-01T00:00:20Z");
    const { begin, length } = rangeOf(spans, now);
    expect(length).toBe(20_000);
    expect(placeOf(spans[0]!.from, spans[0]!.until, begin, length, now)).toEqual({
      offset: 0,
      width: 50,
      milliseconds: 10_000,
    });
    expect(placeOf(spans[1]!.from, null, begin, length, now)).toEqual({ offset: 25, width: 75, milliseconds: 15_000 });
    expect(rangeOf([], now)).toEqual({ begin: now, length: 1 });
  });

  test("the operations of /v1 are asked for below /console", () => {
    expect(consolePath("/v1/agents?limit=1")).toBe("/console/api/agents?limit=1");
    expect(consolePath("/console/api/overview")).toBe("/console/api/overview");
  });
});
