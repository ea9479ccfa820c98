import { expect, test } from "bun:test";
import { readSnapshot } from "../../src/workspaces/commands/snapshot.ts";
import { useTenant } from "../harness/fixture.ts";
import { failure, newScope, upload } from "../harness/workspace-scope.ts";

const { h, t } = await useTenant();

test("a list of files is what the workspace has, whatever was written and deleted since it was read", async () => {
  const scope = await newScope(h, t);
  const { workspaceId } = scope;
  const remove = (path: string) => t.call("DELETE", `/v1/workspaces/${workspaceId}/files?path=${path}`, { form: "b" });
  const steps: [what: string, step: () => Promise<unknown>][] = [
    ["nothing", async () => {}],
    ["new", () => Promise.all(["b", "a/ä", "c"].map((path) => upload(t, scope, path, path)))],
    ["nothing new", async () => {}],
    ["overwritten", () => upload(t, scope, "b", "again")],
    ["deleted", () => remove("c")],
    ["deleted and another one written", () => remove("b").then(() => upload(t, scope, "d", "d"))],
    ["deleted and written again", () => remove("d").then(() => upload(t, scope, "d", "dd"))],
    ["a folder", () => h.sql`insert into workspace_folders (workspace_id, path) values (${workspaceId}, 'empty')`],
    ["all deleted", () => Promise.all(["a/ä", "d"].map((path) => remove(encodeURIComponent(path))))],
  ];
  for (const [what, step] of steps) {
    await step();
    const rows = await h.sql<{ path: string; size: number; executable: boolean; revision: number; updatedAt: Date }[]>`
      select path, size, executable, revision, updated_at from workspace_files where workspace_id = ${workspaceId} order by path`;
    const files = rows.map(({ updatedAt, ...file }) => ({ ...file, mtimeMs: updatedAt.getTime() }));
    const folders = await h.sql<
      { path: string }[]
    >`select path from workspace_folders where workspace_id = ${workspaceId}`;
    expect([what, await readSnapshot(h.sql, t.id, workspaceId)]).toEqual([
      what,
      { files, folders: folders.map(({ path }) => path) },
    ]);
  }
  const other = await h.tenant();
  expect(await failure(readSnapshot(h.sql, other.id, workspaceId))).toBe("There is no such workspace.");
  await h.sql`update workspaces set status = 'deleting' where id = ${workspaceId}`;
  expect(await failure(readSnapshot(h.sql, t.id, workspaceId))).toContain("delet");
});
