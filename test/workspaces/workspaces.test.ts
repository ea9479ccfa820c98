import { describe, expect, test } from "bun:test";
import { fileBytesMax, filesDeletedAtOnceMax } from "../../src/workspaces/limits.ts";
import { sandboxIdOf } from "../../src/workspaces/sandbox-id.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";
import { workspaceCalls } from "../harness/workspace-calls.ts";

const { h, t } = await useTenant({ worker: true });
const { create, put, get, fill } = workspaceCalls(h, t);

const unknown = "0".repeat(24);
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What differs between the two forms of one thing. */
const kinds = [
  {
    form: "a",
    path: "/v1/sandboxes",
    update: "PUT",
    id: /^sb_[0-9a-z]{24}$/,
    prefix: "sb_",
    name: /^sandbox--[0-9a-z]{8}$/,
    missing: "SANDBOX_NOT_FOUND",
    inUse: "SANDBOX_IN_USE",
    deleting: "SANDBOX_DELETE_CONFLICT",
    invalid: "invalid_request",
    cursor: "invalid_request",
  },
  {
    form: "b",
    path: "/v1/workspaces",
    update: "PATCH",
    id: /^ws_[0-9a-z]{24}$/,
    prefix: "ws_",
    name: /^workspace--[0-9a-z]{8}$/,
    missing: "workspace_not_found",
    inUse: "workspace_in_use",
    deleting: "workspace_delete_conflict",
    invalid: "validation_failed",
    cursor: "invalid_cursor",
  },
] as const;

for (const kind of kinds) {
  const { form, path } = kind;
  const call = (method: string, url: string, body?: unknown) => t.call(method, url, { form, body });

  describe(`${path} in form ${form}`, () => {
    test(`POST ${path} 201: a generated name, defaults, read back the same`, async () => {
      const made = await call("POST", path, {});
      expect(made.status).toBe(201);
      expect(made.body).toEqual({
        id: expect.stringMatching(kind.id),
        tenantId: t.id,
        name: expect.stringMatching(kind.name),
        userId: "",
        metadata: {},
        status: "ready",
        runtime: "simulated",
        createdAt: expect.stringMatching(timestamp),
        updatedAt: made.body.createdAt,
      });
      expect(made.body.id).toEndWith(made.body.name.split("--")[1]);
      expect(await call("GET", `${path}/${made.body.id}`)).toMatchObject({ status: 200, body: made.body });
    });

    test(`POST ${path} 201: what is given is kept; a body may be left out`, async () => {
      const fields = { name: "n".repeat(80), userId: "u1", metadata: { z: 1, a: [null] } };
      expect((await call("POST", path, fields)).body).toMatchObject(fields);
      expect((await call("POST", path)).status).toBe(201);
    });

    test(`POST ${path} 400: broken and unknown fields`, async () => {
      for (const body of [
        { name: "" },
        { name: "n".repeat(81) },
        { name: null },
        { metadata: [] },
        { userId: 1 },
        { id: "x" },
        { networkPolicy: "allow" },
      ]) {
        expect(statusAndCode(await call("POST", path, body))).toEqual([400, kind.invalid]);
      }
    });

    test(`GET ${path} 200: newest first, by user, in pages`, async () => {
      const own = await h.tenant();
      const ids: string[] = [];
      for (const userId of ["", "u", "", "u", ""]) {
        ids.unshift((await own.call("POST", path, { form, body: { userId } })).body.id);
      }
      const all = await own.call("GET", path, { form });
      expect(all.body.data.map(({ id }: { id: string }) => id)).toEqual(ids);
      expect(all.body.nextCursor).toBeNull();
      const seen: string[] = [];
      let cursor = "";
      do {
        const page = await own.call("GET", `${path}?userId=&limit=2${cursor}`, { form });
        seen.push(...page.body.data.map(({ id }: { id: string }) => id));
        cursor = page.body.nextCursor === null ? "" : `&cursor=${page.body.nextCursor}`;
      } while (cursor !== "");
      expect(seen).toEqual([ids[0], ids[2], ids[4]] as string[]);
    });

    test(`GET ${path} 400: limit, cursor, unknown fields`, async () => {
      for (const query of ["limit=0", "limit=201", "limit=x", "agentId=1", "userId=a&userId=b"]) {
        expect(statusAndCode(await call("GET", `${path}?${query}`))).toEqual([400, kind.invalid]);
      }
      expect(statusAndCode(await call("GET", `${path}?cursor=nonsense`))).toEqual([400, kind.cursor]);
      expect((await call("GET", `${path}?limit=200`)).status).toBe(200);
    });

    test(`${kind.update} ${path}/:id 200: name alone, metadata replaced whole; userId stays`, async () => {
      const { id } = (await call("POST", path, { name: "one", userId: "u", metadata: { a: 1 } })).body;
      const renamed = await call(kind.update, `${path}/${id}`, { name: "two" });
      expect(renamed).toMatchObject({ status: 200, body: { id, name: "two", userId: "u", metadata: { a: 1 } } });
      const replaced = await call(kind.update, `${path}/${id}`, { metadata: { b: 2 } });
      expect(replaced.body.metadata).toEqual({ b: 2 });
      expect(replaced.body.updatedAt >= renamed.body.updatedAt).toBe(true);
    });

    test(`${kind.update} ${path}/:id 400: nothing, userId, broken fields`, async () => {
      const { id } = (await call("POST", path, {})).body;
      for (const body of [{}, { userId: "u" }, { name: "" }, { name: null }, { metadata: null }, { name: "x", x: 1 }]) {
        expect(statusAndCode(await call(kind.update, `${path}/${id}`, body))).toEqual([400, kind.invalid]);
      }
    });

    test(`DELETE ${path}/:id 204: gone, and 404 from then on`, async () => {
      const { id } = (await call("POST", path, {})).body;
      expect(await call("DELETE", `${path}/${id}`)).toMatchObject({ status: 204, body: null });
      for (const method of ["GET", "DELETE"])
        expect(statusAndCode(await call(method, `${path}/${id}`))).toEqual([404, kind.missing]);
    });

    test(`${path}/:id 404 for an unknown and a foreign one alike, 400 for a malformed id`, async () => {
      const other = await h.tenant();
      const { id } = (await other.call("POST", path, { form, body: {} })).body;
      for (const [method, body] of [["GET"], ["DELETE"], [kind.update, { name: "x" }]] as const) {
        const missing = await call(method, `${path}/${kind.prefix}${unknown}`, body);
        const foreign = await call(method, `${path}/${id}`, body);
        const said = `There is no such ${/sandbox|workspace/.exec(path)?.[0]}.`;
        expect([...statusAndCode(missing), missing.body.error.message]).toEqual([404, kind.missing, said]);
        expectSameError(foreign, missing);
        const wrongPrefix = `${kind.prefix === "sb_" ? "ws_" : "sb_"}${unknown}`;
        for (const bad of ["x", wrongPrefix, `${kind.prefix}${unknown}0`])
          expect(statusAndCode(await call(method, `${path}/${bad}`, body))).toEqual([400, kind.invalid]);
      }
      expect((await other.call("GET", `${path}/${id}`, { form })).status).toBe(200);
    });

    test(`DELETE ${path}/:id 409 while an agent has it, 204 afterwards`, async () => {
      const { id } = (await call("POST", path, {})).body;
      const field = form === "a" ? { sandboxId: id } : { workspaceId: id };
      const agent = await call("POST", "/v1/agents", { name: `holder ${form}`, ...field });
      expect(agent.status).toBe(201);
      expect(statusAndCode(await call("DELETE", `${path}/${id}`))).toEqual([409, kind.inUse]);
      expect((await call("DELETE", `/v1/agents/${agent.body.id}`)).status).toBe(204);
      expect((await call("DELETE", `${path}/${id}`)).status).toBe(204);
    });

    test(`DELETE ${path}/:id 202 with many files: deleting, then 404`, async () => {
      const { id } = (await call("POST", path, {})).body;
      const workspaceId = `ws_${id.slice(3)}`;
      await fill(workspaceId, filesDeletedAtOnceMax + 1, 1);
      // The job waits behind this lock, so that the state between can be looked at.
      const holder = await h.sql.reserve();
      await holder`begin`;
      await holder`select 1 from workspace_files where workspace_id = ${workspaceId} for update`;
      const asked = await call("DELETE", `${path}/${id}`);
      expect([asked.status, asked.body]).toEqual([202, { status: "deleting" }]);
      expect((await call("GET", `${path}/${id}`)).body).toMatchObject({ id, status: "deleting" });
      expect((await call("DELETE", `${path}/${id}`)).status).toBe(202);
      expect(statusAndCode(await call(kind.update, `${path}/${id}`, { name: "x" }))).toEqual([409, kind.deleting]);
      expect(statusAndCode(await put(workspaceId, "late.txt", "x"))).toEqual([409, "workspace_delete_conflict"]);
      expect(statusAndCode(await get(workspaceId))).toEqual([409, "workspace_delete_conflict"]);
      const field = form === "a" ? { sandboxId: id } : { workspaceId: id };
      const attached = await call("POST", "/v1/agents", { name: `late ${form}`, ...field });
      expect(attached.status).toBe(form === "a" ? 400 : 404);
      await holder`rollback`;
      holder.release();
      await eventually(async () => (await call("GET", `${path}/${id}`)).status === 404);
      const [left] = await h.sql`select 1 from workspace_files where workspace_id = ${workspaceId}`;
      expect(left).toBeUndefined();
    });

    test(`DELETE ${path}/:id 204 with as many files as go at once`, async () => {
      const { id } = (await call("POST", path, {})).body;
      await fill(`ws_${id.slice(3)}`, filesDeletedAtOnceMax, 1);
      expect((await call("DELETE", `${path}/${id}`)).status).toBe(204);
    });

    test(`DELETE ${path}/:id 202 with heavy files`, async () => {
      const { id } = (await call("POST", path, {})).body;
      await fill(`ws_${id.slice(3)}`, 2, fileBytesMax);
      expect((await call("DELETE", `${path}/${id}`)).status).toBe(202);
      await eventually(async () => (await call("GET", `${path}/${id}`)).status === 404);
    });

    test(`DELETE ${path}/:id against POST /v1/agents: never both`, async () => {
      for (let round = 0; round < 5; round += 1) {
        const { id } = (await call("POST", path, {})).body;
        const field = form === "a" ? { sandboxId: id } : { workspaceId: id };
        const [deleted, agent] = await Promise.all([
          call("DELETE", `${path}/${id}`),
          call("POST", "/v1/agents", { name: `race ${form} ${round}`, ...field }),
        ]);
        expect([deleted.status === 204, agent.status === 201].filter(Boolean)).toHaveLength(1);
        expect(deleted.status === 204 ? agent.status : deleted.status).toBe(
          deleted.status === 204 ? (form === "a" ? 400 : 404) : 409,
        );
      }
    });

    test(`${path} 401 without a credential, 404 in the other form, 405 for other methods`, async () => {
      expect((await t.call("GET", path, { form, token: null })).status).toBe(401);
      const other = form === "a" ? "b" : "a";
      for (const method of ["GET", "POST"]) {
        expect(statusAndCode(await t.call(method, path, { form: other }))).toEqual([404, "not_found"]);
      }
      expect(statusAndCode(await t.call("GET", `${path}/${kind.prefix}${unknown}`, { form: other }))).toEqual([
        404,
        "not_found",
      ]);
      const wrong = await call(kind.update === "PUT" ? "PATCH" : "PUT", `${path}/${kind.prefix}${unknown}`, {});
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, `DELETE, GET, ${kind.update}`]);
    });

    test(`POST ${path} with an Idempotency-Key returns the same resource`, async () => {
      const headers = { "idempotency-key": `key-${form}` };
      const [first, second] = [
        await t.call("POST", path, { form, headers, body: { name: "once" } }),
        await t.call("POST", path, { form, headers, body: { name: "once" } }),
      ];
      expect(second.body).toEqual(first.body);
    });
  });
}

test("A workspace made in one form is read in the other under its other id", async () => {
  const id = await create(t, { name: "both" });
  const sandbox = await t.call("GET", `/v1/sandboxes/${sandboxIdOf(id)}`, { form: "a" });
  expect(sandbox.body).toMatchObject({ id: sandboxIdOf(id), name: "both" });
  const agent = await t.call("POST", "/v1/agents", { form: "b", body: { name: "own workspace" } });
  const own = await t.call("GET", `/v1/workspaces/${agent.body.workspaceId}`, { form: "b" });
  expect(own.body.name).toMatch(/^workspace--[0-9a-z]{8}$/);
});
