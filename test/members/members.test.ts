import { describe, expect, test } from "bun:test";
import { addressKey } from "../../src/members/address.ts";
import { useTenant } from "../harness/fixture.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant({ env: { CONSOLE: "1" } });
const invite = (email: string, role = "editor", token = t.token) =>
  t.call("POST", "/v1/members", { token, body: { email, role } });

describe("a member", () => {
  test("is invited for seven days, changed, listed newest first and removed, each with an audit event", async () => {
    const { status, body: ana } = await invite("Ana@Example.org", "runner");
    expect([status, ana]).toEqual([
      201,
      {
        id: expect.stringMatching(/^mbr_[0-9a-z]{24}$/),
        email: "Ana@Example.org",
        name: null,
        role: "runner",
        groupRole: null,
        invitedUntil: expect.any(String),
        lastSignInAt: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const days = (Date.parse(ana.invitedUntil) - Date.parse(ana.createdAt)) / 86_400_000;
    expect(days).toBeCloseTo(7, 1);
    const bert = (await invite("bert@example.org")).body;
    const listed = (await t.call("GET", "/v1/members?limit=1")).body;
    expect(listed.data).toEqual([bert]);
    expect((await t.call("GET", `/v1/members?limit=1&cursor=${listed.nextCursor}`)).body.data).toEqual([ana]);
    const changed = await t.call("PATCH", `/v1/members/${ana.id}`, { body: { role: "admin" } });
    expect([changed.status, changed.body.role]).toEqual([200, "admin"]);
    expect((await t.call("DELETE", `/v1/members/${ana.id}`)).status).toBe(204);
    expect((await t.call("GET", `/v1/members/${ana.id}`)).status).toBe(404);
    const events = (await t.call("GET", `/v1/audit-events?resourceId=${ana.id}`)).body.data;
    expect(events.map(({ action, changes }: { action: string; changes: string[] }) => [action, changes])).toEqual([
      ["member.delete", []],
      ["member.update", ["role", "invitedUntil"]],
      ["member.create", ["email", "role"]],
    ]);
  });

  test("is invited anew by a change, of the same role too: for seven days from then on, with an audit event", async () => {
    const { body: eva } = await invite("eva@example.org", "runner");
    await h.sql`
      update members set invited_until = now() - interval '1 day', updated_at = created_at where id = ${eva.id}`;
    const over = (await t.call("GET", `/v1/members/${eva.id}`)).body;
    expect([over.role, Date.parse(over.invitedUntil) < Date.now()]).toEqual(["runner", true]);
    for (const role of ["runner", "editor"]) {
      const { status, body } = await t.call("PATCH", `/v1/members/${eva.id}`, { body: { role } });
      expect([status, body.role]).toEqual([200, role]);
      const days = (Date.parse(body.invitedUntil) - Date.parse(body.updatedAt)) / 86_400_000;
      expect(days).toBeCloseTo(7, 3);
    }
    const events = (await t.call("GET", `/v1/audit-events?resourceId=${eva.id}&action=member.update`)).body.data;
    expect(events.map(({ changes }: { changes: string[] }) => changes)).toEqual([
      ["role", "invitedUntil"],
      ["invitedUntil"],
    ]);
    await h.sql`update members set signed_in_at = now(), invited_until = null where id = ${eva.id}`;
    const known = await t.call("PATCH", `/v1/members/${eva.id}`, { body: { role: "editor" } });
    expect(known.body.invitedUntil).toBeNull();
    const after = (await t.call("GET", `/v1/audit-events?resourceId=${eva.id}&action=member.update`)).body.data;
    expect(after).toHaveLength(2);
  });

  test("409 member_exists: an address in another case; another tenant may have it", async () => {
    await invite("Carla@example.org");
    expect(statusAndCode(await invite("cARLA@EXAMPLE.ORG"))).toEqual([409, "member_exists"]);
    const other = await h.tenant();
    expect(
      (await other.call("POST", "/v1/members", { body: { email: "carla@example.org", role: "reader" } })).status,
    ).toBe(201);
  });

  test("409 member_exists: one of two that come at once", async () => {
    const both = await Promise.all([invite("dora@example.org"), invite("DORA@example.org")]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test("400 validation_failed: what is no address, and a role that there is not", async () => {
    for (const email of ["", "ana", "ana@", "@example.org", "a na@example.org", "a@b@c", "a@b\n", 7])
      expect(statusAndCode(await invite(email as string))).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await invite("eve@example.org", "owner"))).toEqual([400, "validation_failed"]);
  });

  test("403 forbidden: to a role below admin, and to a key that is limited to some agents", async () => {
    const agent = await t.parley.agents.create({ name: crypto.randomUUID() });
    for (const fields of [{ role: "editor" as const }, { agentIds: [agent.id] }]) {
      const { token } = await t.parley.apiKeys.create({ name: "k", ...fields });
      const { data } = (await t.call("GET", "/v1/members")).body;
      const path = `/v1/members/${data[0].id}`;
      for (const [method, asked, body] of [
        ["GET", "/v1/members"],
        ["POST", "/v1/members", { email: "f@example.org", role: "reader" }],
        ["GET", path],
        ["PATCH", path, { role: "reader" }],
        ["DELETE", path],
      ] as const)
        expect(statusAndCode(await t.call(method, asked, { token, body }))).toEqual([403, "forbidden"]);
    }
  });
});

test("addresses are compared without case, but no letter outside of ASCII is one inside", () => {
  expect(addressKey("Ana@EXAMPLE.org")).toBe("ana@example.org");
  expect(addressKey("ÄNNA@example.org")).toBe(addressKey("änna@example.org"));
  // The Kelvin sign, and the dotted capital I.
  expect(addressKey("\u212Aate@example.org")).not.toBe(addressKey("kate@example.org"));
  expect(addressKey("\u0130da@example.org")).not.toContain("i");
});
