import { describe, expect, test } from "bun:test";
import { sandboxIdOf } from "../../src/kernel/ids.ts";
import {
  fileBytesMax,
  filesDeletedAtOnceMax,
  workspaceBytesMax,
  workspaceFilesMax,
} from "../../src/workspaces/limits.ts";
import { useTenant } from "../harness/fixture.ts";
import { type ApiResponse, eventually, type TestTenant } from "../harness/harness.ts";

const { h, t } = await useTenant({ worker: true });

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

async function create(tenant: TestTenant, fields: Record<string, unknown> = {}): Promise<string> {
  const response = await tenant.call("POST", "/v1/workspaces", { form: "b", body: fields });
  expect(response.status).toBe(201);
  return response.body.id;
}

function verdict({ status, body }: ApiResponse) {
  return [status, body?.error?.code];
}

function filesUrl(id: string, path?: string): string {
  return `/v1/workspaces/${id}/files${path === undefined ? "" : `?path=${encodeURIComponent(path)}`}`;
}

function put(id: string, path: string, content: string | Uint8Array, tenant = t): Promise<ApiResponse> {
  const headers = { "content-type": "application/octet-stream" };
  return tenant.call("PUT", filesUrl(id, path), { form: "b", body: content, headers });
}

function get(id: string, path?: string, tenant = t): Promise<ApiResponse> {
  return tenant.call("GET", filesUrl(id, path), { form: "b" });
}

/** Fills a workspace by rows, which is quicker than by requests. */
async function fill(id: string, files: number, bytesEach: number): Promise<void> {
  await h.sql`
    insert into workspace_files (workspace_id, path, content, size)
    select ${id}, 'fill/' || n, convert_to(repeat('x', ${bytesEach}), 'UTF8'), ${bytesEach} from generate_series(1, ${files}) n`;
}

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
        expect(verdict(await call("POST", path, body))).toEqual([400, kind.invalid]);
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
        expect(verdict(await call("GET", `${path}?${query}`))).toEqual([400, kind.invalid]);
      }
      expect(verdict(await call("GET", `${path}?cursor=nonsense`))).toEqual([400, kind.cursor]);
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
        expect(verdict(await call(kind.update, `${path}/${id}`, body))).toEqual([400, kind.invalid]);
      }
    });

    test(`DELETE ${path}/:id 204: gone, and 404 from then on`, async () => {
      const { id } = (await call("POST", path, {})).body;
      expect(await call("DELETE", `${path}/${id}`)).toMatchObject({ status: 204, body: null });
      for (const method of ["GET", "DELETE"])
        expect(verdict(await call(method, `${path}/${id}`))).toEqual([404, kind.missing]);
    });

    test(`${path}/:id 404 for an unknown and a foreign one alike, 400 for a malformed id`, async () => {
      const other = await h.tenant();
      const { id } = (await other.call("POST", path, { form, body: {} })).body;
      for (const [method, body] of [["GET"], ["DELETE"], [kind.update, { name: "x" }]] as const) {
        const missing = await call(method, `${path}/${kind.prefix}${unknown}`, body);
        const foreign = await call(method, `${path}/${id}`, body);
        const said = `There is no such ${/sandbox|workspace/.exec(path)?.[0]}.`;
        expect([...verdict(missing), missing.body.error.message]).toEqual([404, kind.missing, said]);
        expect({ ...foreign.body.error, requestId: "" }).toEqual({ ...missing.body.error, requestId: "" });
        const wrongPrefix = `${kind.prefix === "sb_" ? "ws_" : "sb_"}${unknown}`;
        for (const bad of ["x", wrongPrefix, `${kind.prefix}${unknown}0`])
          expect(verdict(await call(method, `${path}/${bad}`, body))).toEqual([400, kind.invalid]);
      }
      expect((await other.call("GET", `${path}/${id}`, { form })).status).toBe(200);
    });

    test(`DELETE ${path}/:id 409 while an agent has it, 204 afterwards`, async () => {
      const { id } = (await call("POST", path, {})).body;
      const field = form === "a" ? { sandboxId: id } : { workspaceId: id };
      const agent = await call("POST", "/v1/agents", { name: `holder ${form}`, ...field });
      expect(agent.status).toBe(201);
      expect(verdict(await call("DELETE", `${path}/${id}`))).toEqual([409, kind.inUse]);
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
      expect(verdict(await call(kind.update, `${path}/${id}`, { name: "x" }))).toEqual([409, kind.deleting]);
      expect(verdict(await put(workspaceId, "late.txt", "x"))).toEqual([409, "workspace_delete_conflict"]);
      expect(verdict(await get(workspaceId))).toEqual([409, "workspace_delete_conflict"]);
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
        expect(verdict(await t.call(method, path, { form: other }))).toEqual([404, "not_found"]);
      }
      expect(verdict(await t.call("GET", `${path}/${kind.prefix}${unknown}`, { form: other }))).toEqual([
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

describe("/v1/workspaces/:workspaceId/files", () => {
  test("PUT, GET, list, DELETE: the bytes as they were sent", async () => {
    const id = await create(t);
    const bytes = new Uint8Array(256).map((_, index) => index);
    expect(await put(id, "notes/ä b.bin", bytes)).toMatchObject({
      status: 200,
      body: { path: "notes/ä b.bin", sizeBytes: 256 },
    });
    expect((await put(id, "/a.txt", "one")).body).toEqual({ path: "a.txt", sizeBytes: 3 });
    expect((await put(id, "a.txt", "three")).body).toEqual({ path: "a.txt", sizeBytes: 5 });
    expect((await put(id, "empty", new Uint8Array())).body).toEqual({ path: "empty", sizeBytes: 0 });
    const raw = await h.app(
      new Request(`http://parley.test${filesUrl(id, "notes/ä b.bin")}`, {
        headers: { authorization: `Bearer ${t.token}`, "api-form": "b" },
      }),
    );
    expect(raw.headers.get("content-type")).toBe("application/octet-stream");
    expect(new Uint8Array(await raw.arrayBuffer())).toEqual(bytes);
    const files = [
      { path: "a.txt", sizeBytes: 5 },
      { path: "empty", sizeBytes: 0 },
      { path: "notes/ä b.bin", sizeBytes: 256 },
    ];
    expect((await get(id)).body).toEqual({ files });
    expect((await get(id, "/")).body).toEqual({ files });
    expect((await get(id, "/a.txt")).body).toBe("three");
    for (let round = 0; round < 2; round += 1)
      expect((await t.call("DELETE", filesUrl(id, "a.txt"), { form: "b" })).status).toBe(204);
    expect(verdict(await get(id, "a.txt"))).toEqual([404, "not_found"]);
    expect(verdict(await get(id, "notes"))).toEqual([404, "not_found"]);
  });

  test("400: paths that are none", async () => {
    const id = await create(t);
    const bad = [
      "",
      "..",
      "../x",
      "a/../b",
      ".",
      "./a",
      "a/.",
      "a//b",
      "//a",
      "a/",
      "a\0b",
      ".parley/x",
      "x".repeat(1025),
    ];
    for (const path of [...bad, "ä".repeat(513)]) {
      expect(verdict(await put(id, path, "x"))).toEqual([400, "validation_failed"]);
      expect(verdict(await get(id, path))).toEqual([400, "validation_failed"]);
      expect(verdict(await t.call("DELETE", filesUrl(id, path), { form: "b" }))).toEqual([400, "validation_failed"]);
    }
    for (const method of ["PUT", "DELETE"]) {
      expect(verdict(await t.call(method, filesUrl(id), { form: "b" }))).toEqual([400, "validation_failed"]);
      expect(verdict(await t.call(method, filesUrl(id, "/"), { form: "b" }))).toEqual([400, "validation_failed"]);
    }
    expect((await put(id, "x".repeat(1024), "x")).status).toBe(200);
    expect((await put(id, "..a/...", "x")).status).toBe(200);
  });

  test("PUT and DELETE 400: a path is a file or a folder, never both", async () => {
    const id = await create(t);
    await put(id, "a/b", "x");
    for (const path of ["a", "a/b/c", "a/b/c/d"]) expect((await put(id, path, "x")).status).toBe(400);
    expect((await t.call("DELETE", filesUrl(id, "a"), { form: "b" })).status).toBe(400);
    expect((await put(id, "a.b", "x")).status).toBe(200);
    const [above, below] = await Promise.all([put(id, "r", "x"), put(id, "r/s", "x")]);
    expect([above.status, below.status].sort()).toEqual([200, 400]);
  });

  test("PUT 413 beyond 10 MiB, 200 at it", async () => {
    const id = await create(t);
    expect((await put(id, "big", new Uint8Array(fileBytesMax))).status).toBe(200);
    expect(verdict(await put(id, "big", new Uint8Array(fileBytesMax + 1)))).toEqual([413, "payload_too_large"]);
    expect((await get(id)).body.files).toEqual([{ path: "big", sizeBytes: fileBytesMax }]);
  });

  test("PUT 400 beyond 100 MiB a workspace, also when many come at once", async () => {
    const id = await create(t);
    await fill(id, 10, fileBytesMax - 10);
    expect(workspaceBytesMax - 10 * (fileBytesMax - 10)).toBe(100);
    const responses = await Promise.all([1, 2, 3, 4].map((n) => put(id, `new${n}`, "x".repeat(50))));
    expect(responses.map(verdict).sort()).toEqual([
      [200, undefined],
      [200, undefined],
      [400, "invalid_request"],
      [400, "invalid_request"],
    ]);
    expect((await put(id, "fill/1", "smaller")).status).toBe(200);
    expect((await put(id, "new5", "x")).status).toBe(200);
  });

  test("PUT 400 beyond 10,000 files a workspace, also when many come at once", async () => {
    const id = await create(t);
    await fill(id, workspaceFilesMax - 2, 1);
    const responses = await Promise.all([1, 2, 3, 4].map((n) => put(id, `new${n}`, "x")));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400]);
    expect((await put(id, "fill/1", "again")).status).toBe(200);
    expect((await get(id)).body.files).toHaveLength(workspaceFilesMax);
  });

  test("404 for an unknown and a foreign workspace, 400 for a malformed id, 404 in form A", async () => {
    const other = await h.tenant();
    const id = await create(other);
    await put(id, "secret", "x", other);
    for (const target of [id, `ws_${unknown}`]) {
      expect(verdict(await get(target))).toEqual([404, "workspace_not_found"]);
      expect(verdict(await get(target, "secret"))).toEqual([404, "workspace_not_found"]);
      expect(verdict(await put(target, "secret", "y"))).toEqual([404, "workspace_not_found"]);
      const deleted = await t.call("DELETE", filesUrl(target, "secret"), { form: "b" });
      expect(verdict(deleted)).toEqual([404, "workspace_not_found"]);
    }
    expect(verdict(await get("ws_x"))).toEqual([400, "validation_failed"]);
    expect((await get(id, "secret", other)).body).toBe("x");
    expect((await other.call("GET", filesUrl(id), { form: "a" })).status).toBe(404);
  });
});
