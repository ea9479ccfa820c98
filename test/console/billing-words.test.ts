import { describe, expect, test } from "bun:test";
import type { MerchantEvent } from "parley/client";
import {
  eventMoves,
  eventStatusChoices,
  eventText,
  formOfGuard,
  guardOfForm,
  merchantText,
} from "../../src/console/billing/billing-words.ts";

const event = { status: "pending", userId: "ada", nextAction: "wait", workflowIssue: null, lastErrorCode: null };
const of = (fields: Partial<MerchantEvent>) => ({ ...event, ...fields }) as MerchantEvent;

describe("the form of a guard", () => {
  test("holds all that a guard has, and gives it back", () => {
    for (const guard of [
      { enabled: true, productIds: ["p1", "p2"], meterId: "m" },
      { enabled: false, productIds: [], meterId: null },
    ])
      expect(guardOfForm(formOfGuard(guard))).toEqual(guard);
  });

  test("takes products one a line, or with commas", () => {
    const form = {
      ...formOfGuard({ enabled: true, productIds: [], meterId: null }),
      "guard.productIds": " a,b\n\n c ",
    };
    expect(guardOfForm(form).productIds).toEqual(["a", "b", "c"]);
  });
});

describe("a usage event", () => {
  test("has the moves that its status allows", () => {
    const movesOf = (status: MerchantEvent["status"]) =>
      Object.entries(eventMoves({ status, userId: "ada", workflowIssue: null }))
        .filter(([, can]) => can)
        .map(([move]) => move);
    expect(movesOf("failed")).toEqual(["retry", "discard"]);
    expect(movesOf("uncertain")).toEqual(["retry", "discard"]);
    expect(movesOf("unmapped")).toEqual(["release", "discard"]);
    for (const status of ["pending", "accepted", "incomplete", "discarded", "expired"] as const)
      expect(movesOf(status)).toEqual([]);
    expect(eventMoves({ status: "unmapped", userId: "", workflowIssue: null }).release).toBe(false);
    const stuck = { status: "pending", userId: "", workflowIssue: "automatic_delivery_ended" } as const;
    expect(eventMoves(stuck)).toEqual({ retry: true, release: false, discard: false });
  });

  test("says what becomes of it", () => {
    expect(eventText(of({}))).toBe("It is sent by itself.");
    expect(eventText(of({ workflowIssue: "automatic_delivery_ended" }))).toContain("automatic delivery ended");
    expect(eventText(of({ status: "failed", lastErrorCode: "http_400" }))).toBe("It was not taken (http_400).");
    expect(eventText(of({ status: "unmapped", nextAction: "bind_and_release" }))).toContain("release it");
    expect(eventText(of({ status: "unmapped", nextAction: "discard" }))).toContain("discard it");
    for (const status of eventStatusChoices) expect(eventText(of({ status }))).toBeString();
  });

  test("belongs to a provider with a name", () => {
    expect(["billing_a", "billing_b", "billing_z"].map(merchantText)).toEqual(["Polar", "Stripe", "billing_z"]);
  });
});
