import { describe, expect, test } from "bun:test";
import { fileBytesMax, workspaceBytesMax, workspaceFilesMax } from "../../src/workspaces/limits.ts";
import { useTenant } from "../harness/fixture.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { workspaceCalls } from "../harness/workspace-calls.ts";

const { h, t } = await useTenant();
const { create, filesUrl, put, get, fill } = workspaceCalls(h, t);

const unknown = "0".repeat(24);

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
    expect(statusAndCode(await get(id, "a.txt"))).toEqual([404, "not_found"]);
    expect(statusAndCode(await get(id, "notes"))).toEqual([404, "not_found"]);
  });

  test("400 validation_failed: paths that are none", async () => {
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
      expect(statusAndCode(await put(id, path, "x"))).toEqual([400, "validation_failed"]);
      expect(statusAndCode(await get(id, path))).toEqual([400, "validation_failed"]);
      expect(statusAndCode(await t.call("DELETE", filesUrl(id, path), { form: "b" }))).toEqual([
        400,
        "validation_failed",
      ]);
    }
    for (const method of ["PUT", "DELETE"]) {
      expect(statusAndCode(await t.call(method, filesUrl(id), { form: "b" }))).toEqual([400, "validation_failed"]);
      expect(statusAndCode(await t.call(method, filesUrl(id, "/"), { form: "b" }))).toEqual([400, "validation_failed"]);
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

  test("413 payload_too_large: PUT beyond 10 MiB, 200 at it", async () => {
    const id = await create(t);
    expect((await put(id, "big", new Uint8Array(fileBytesMax))).status).toBe(200);
    expect(statusAndCode(await put(id, "big", new Uint8Array(fileBytesMax + 1)))).toEqual([413, "payload_too_large"]);
    expect((await get(id)).body.files).toEqual([{ path: "big", sizeBytes: fileBytesMax }]);
  });

  test("400 invalid_request: PUT beyond 100 MiB a workspace, also when many come at once", async () => {
    const id = await create(t);
    await fill(id, 10, fileBytesMax - 10);
    expect(workspaceBytesMax - 10 * (fileBytesMax - 10)).toBe(100);
    const responses = await Promise.all([1, 2, 3, 4].map((n) => put(id, `new${n}`, "x".repeat(50))));
    expect(responses.map(statusAndCode).sort()).toEqual([
      [200, undefined],
      [200, undefined],
      [400, "invalid_request"],
      [400, "invalid_request"],
    ]);
    expect((await put(id, "fill/1", "smaller")).status).toBe(200);
    expect((await put(id, "new5", "x")).status).toBe(200);
  });

  test("400 invalid_request: PUT beyond 10,000 files a workspace, also when many come at once", async () => {
    const id = await create(t);
    await fill(id, workspaceFilesMax - 2, 1);
    const responses = await Promise.all([1, 2, 3, 4].map((n) => put(id, `new${n}`, "x")));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400]);
    expect((await put(id, "fill/1", "again")).status).toBe(200);
    expect((await get(id)).body.files).toHaveLength(workspaceFilesMax);
  });

  test("404 workspace_not_found: an unknown and a foreign workspace; 400 for a malformed id, 404 in form A", async () => {
    const other = await h.tenant();
    const id = await create(other);
    await put(id, "secret", "x", other);
    for (const target of [id, `ws_${unknown}`]) {
      expect(statusAndCode(await get(target))).toEqual([404, "workspace_not_found"]);
      expect(statusAndCode(await get(target, "secret"))).toEqual([404, "workspace_not_found"]);
      expect(statusAndCode(await put(target, "secret", "y"))).toEqual([404, "workspace_not_found"]);
      const deleted = await t.call("DELETE", filesUrl(target, "secret"), { form: "b" });
      expect(statusAndCode(deleted)).toEqual([404, "workspace_not_found"]);
    }
    expect(statusAndCode(await get("ws_x"))).toEqual([400, "validation_failed"]);
    expect((await get(id, "secret", other)).body).toBe("x");
    expect((await other.call("GET", filesUrl(id), { form: "a" })).status).toBe(404);
  });
});
