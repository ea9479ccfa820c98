import { beforeEach, describe, expect, test } from "bun:test";
import { toolResultBytesMax } from "../../src/kernel/limits.ts";
import { fileBytesMax } from "../../src/workspaces/limits.ts";
import { readTool } from "../../src/workspaces/read.ts";
import { workspaceTools } from "../../src/workspaces/tools.ts";
import { execute, failure, filesOf, newScope, upload, useWorkingScope } from "../harness/workspace-scope.ts";

const working = await useWorkingScope();
const { h, t, run } = working;

test("The group's tools, which of them only read, and none without a workspace", () => {
  const tools = workspaceTools(working.scope);
  expect(tools.map(({ name }) => name)).toEqual(["read", "write", "edit", "list", "glob", "grep", "bash"]);
  expect(tools.filter(({ readOnly }) => readOnly).map(({ name }) => name)).toEqual(["read", "list", "glob", "grep"]);
  expect(workspaceTools({ ...working.scope, workspaceId: null })).toEqual([]);
});

describe("read and write", () => {
  test("what is written reads back, and is the workspace's file over HTTP", async () => {
    const content = "line one\r\nünïcode 😀 $& \\n\n";
    expect(await run("write", { path: "/notes/a.md", content })).toEqual({
      path: "notes/a.md",
      sizeBytes: Buffer.byteLength(content),
    });
    expect(await run("read", { path: "notes//./a.md" })).toMatchObject({ content });
    const url = `/v1/workspaces/${working.scope.workspaceId}/files?path=notes/a.md`;
    expect((await t.call("GET", url, { form: "b" })).body).toBe(content);
    await upload(t, working.scope, "up.txt", "from outside");
    expect((await run("read", { path: "up.txt" })).content).toBe("from outside");
  });

  test("failures in plain words: nothing there, outside, the root, a folder, reserved", async () => {
    await run("write", { path: "d/x", content: "" });
    expect(await failure(run("read", { path: "nope" }))).toBe("There is no file nope.");
    expect(await failure(run("read", { path: "d" }))).toBe("There is no file d.");
    expect(await failure(run("read", { path: "../../etc/passwd" }))).toContain("outside the workspace");
    for (const path of ["/", ".", "d/.."])
      expect(await failure(run("write", { path, content: "x" }))).toContain("file");
    expect(await failure(run("write", { path: "d", content: "x" }))).toContain("is a folder");
    expect(await failure(run("write", { path: "d/x/y", content: "x" }))).toContain("which is a file");
    expect(await failure(run("write", { path: "/.parley/x", content: "x" }))).toContain(".parley");
    expect(await failure(run("write", { path: "big", content: "x".repeat(fileBytesMax + 1) }))).toContain("10 MiB");
    expect(await filesOf(working.scope)).toEqual({ "d/x": "" });
  });

  test("a binary file says so, a long one is cut and says so", async () => {
    await upload(t, working.scope, "bin", new Uint8Array([0x50, 0, 0xff]));
    await upload(t, working.scope, "latin", new Uint8Array([0xe4, 0x20]));
    for (const path of ["bin", "latin"]) {
      const result = await run("read", { path });
      expect(result.content).toBeUndefined();
      expect(result.note).toContain("binary");
    }
    for (const content of ['"\n'.repeat(300_000), `${"x".repeat(3)}${"😀".repeat(100_000)}`]) {
      await run("write", { path: "long", content });
      const result = await run("read", { path: "long" });
      expect(result.note).toContain("Truncated");
      expect(result.sizeBytes).toBe(Buffer.byteLength(content));
      expect(content.startsWith(result.content)).toBe(true);
      expect(result.content.isWellFormed()).toBe(true);
      const bytes = Buffer.byteLength(JSON.stringify(result));
      expect(bytes).toBeLessThanOrEqual(toolResultBytesMax);
      expect(bytes).toBeGreaterThan(toolResultBytesMax * 0.9);
    }
  });

  test("a virtual path is read through the hook alone", async () => {
    const asked: string[] = [];
    const readVirtual = async (path: string) => {
      asked.push(path);
      return path.endsWith("SKILL.md") ? "# Skill" : null;
    };
    const [withWorkspace] = workspaceTools(working.scope, readVirtual);
    for (const tool of [withWorkspace, readTool({ ...working.scope, workspaceId: null }, readVirtual)]) {
      expect((await execute(tool, { path: "/.parley/ag/skills/sk/SKILL.md" })).content).toBe("# Skill");
      expect(await failure(execute(tool, { path: ".parley/ag/skills/sk/other" }))).toContain("There is no file");
      expect(await failure(execute(tool, { path: "a.txt" }))).toContain("There is no file");
    }
    expect(new Set(asked)).toEqual(new Set(["/.parley/ag/skills/sk/SKILL.md", "/.parley/ag/skills/sk/other"]));
    expect(await failure(run("read", { path: "/.parley/x" }))).toContain("There is no file");
  });

  test("a deleted workspace, and a foreign one, tell the model only that", async () => {
    const other = await h.tenant();
    const foreign = { ...working.scope, tenantId: other.id };
    await t.call("DELETE", `/v1/workspaces/${working.scope.workspaceId}`, { form: "b" });
    const own = await newScope(h, t);
    for (const on of [working.scope, { ...own, tenantId: other.id }, foreign]) {
      for (const [name, input] of [
        ["read", { path: "a" }],
        ["write", { path: "a", content: "" }],
        ["edit", { path: "a", oldText: "a", newText: "b" }],
        ["list", {}],
        ["glob", { pattern: "*" }],
        ["grep", { pattern: "x" }],
        ["bash", { command: "ls" }],
      ] as const)
        expect(await failure(run(name, input, on))).toBe("There is no such workspace.");
    }
  });
});

describe("edit", () => {
  test("replaces the one passage, to the character", async () => {
    await run("write", { path: "a", content: "\uFEFFone two three" });
    await run("edit", { path: "a", oldText: "two", newText: "$& $1 $$" });
    expect(await filesOf(working.scope)).toEqual({ a: "\uFEFFone $& $1 $$ three" });
    await run("edit", { path: "a", oldText: " three", newText: "" });
    expect((await filesOf(working.scope)).a).toEndWith("$$");
  });

  test("changes nothing when the passage is missing or there twice, or the file is none", async () => {
    await run("write", { path: "a", content: "aXaXa aaa" });
    await upload(t, working.scope, "bin", new Uint8Array([0]));
    expect(await failure(run("edit", { path: "a", oldText: "b", newText: "c" }))).toContain("does not occur");
    expect(await failure(run("edit", { path: "a", oldText: "aXa", newText: "c" }))).toContain("more than once");
    expect(await failure(run("edit", { path: "nope", oldText: "b", newText: "c" }))).toContain("There is no file");
    expect(await failure(run("edit", { path: "bin", oldText: "b", newText: "c" }))).toContain("binary");
    expect((await filesOf(working.scope)).a).toBe("aXaXa aaa");
  });

  test("edits made at once all count", async () => {
    const words = Array.from({ length: 8 }, (_, n) => `word${n};`);
    await run("write", { path: "a", content: words.join("") });
    await Promise.all(words.map((word) => run("edit", { path: "a", oldText: word, newText: word.toUpperCase() })));
    expect((await filesOf(working.scope)).a).toBe(words.join("").toUpperCase());
  });
});

describe("list, glob and grep", () => {
  beforeEach(async () => {
    for (const path of ["a.md", "b.txt", "docs/c.md", "docs/deep/d.md", "docs.md", ".env"])
      await run("write", { path, content: `first\r\nThis is ${path}\nlast` });
  });

  test("list: all files, or those of a folder", async () => {
    const paths = async (input: unknown) => (await run("list", input)).files.map(({ path }: { path: string }) => path);
    expect(await paths({})).toEqual([".env", "a.md", "b.txt", "docs.md", "docs/c.md", "docs/deep/d.md"]);
    expect(await paths({ path: "/" })).toHaveLength(6);
    expect(await paths({ path: "./docs/" })).toEqual(["docs/c.md", "docs/deep/d.md"]);
    expect(await paths({ path: "a.md" })).toEqual(["a.md"]);
    expect(await paths({ path: "nope" })).toEqual([]);
    expect((await run("list", { path: "a.md" })).files[0].sizeBytes).toBe(24);
    expect(await failure(run("list", { path: ".." }))).toContain("outside");
  });

  test("glob: what each pattern finds", async () => {
    const cases: [string, string[]][] = [
      ["*.md", ["a.md", "docs.md"]],
      ["**/*.md", ["a.md", "docs.md", "docs/c.md", "docs/deep/d.md"]],
      ["docs/**", ["docs/c.md", "docs/deep/d.md"]],
      ["/docs/*", ["docs/c.md"]],
      ["./?.{md,txt}", ["a.md", "b.txt"]],
      ["[!b].md", ["a.md"]],
      ["[a-c].*", ["a.md", "b.txt"]],
      ["**/d*/**/*.md", ["docs/c.md", "docs/deep/d.md"]],
      ["{a,{b,x}}.*", ["a.md", "b.txt"]],
      ["*", [".env", "a.md", "b.txt", "docs.md"]],
      ["nope", []],
      ["[", []],
      ["{a", []],
    ];
    for (const [pattern, paths] of cases)
      expect({ pattern, paths }).toEqual({ pattern, paths: (await run("glob", { pattern })).paths });
  });

  test("glob: no pattern takes long", async () => {
    await h.sql`
      insert into workspace_files (workspace_id, path, content, size)
      select ${working.scope.workspaceId}, repeat('a', 200) || n, '', 0 from generate_series(1, 2000) n`;
    const startedAt = performance.now();
    const outcomes = await Promise.all([
      run("glob", { pattern: `${"*a".repeat(400)}=` }).catch((error: Error) => error.message),
      run("glob", { pattern: "**/".repeat(300) }).catch((error: Error) => error.message),
    ]);
    // Without a limit it would take years.
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    expect(outcomes[0]).toContain("takes too long");
    expect(await failure(run("glob", { pattern: "{a,b}".repeat(100) }))).toContain("too many");
    expect(await failure(run("glob", { pattern: "a".repeat(1001) }))).toContain("at most");
  });

  test("grep: lines with their places; one file, a folder, binary files passed over", async () => {
    await upload(t, working.scope, "bin", new Uint8Array([0, 0x54, 0x68]));
    expect(await run("grep", { pattern: "^This .*\\.txt$" })).toEqual({
      matches: [{ path: "b.txt", line: 2, text: "This is b.txt" }],
    });
    const found = async (input: unknown) =>
      (await run("grep", input)).matches.map(({ path }: { path: string }) => path);
    expect(await found({ pattern: "Th", path: "docs" })).toEqual(["docs/c.md", "docs/deep/d.md"]);
    expect(await found({ pattern: "Th", path: "a.md" })).toEqual(["a.md"]);
    expect(await found({ pattern: "nothing like it" })).toEqual([]);
    expect(await found({ pattern: "x", path: "nope" })).toEqual([]);
    expect(await failure(run("grep", { pattern: "(" }))).toContain("nvalid");
  });

  test("grep: many and long matches are cut, and say so", async () => {
    await run("write", { path: "many", content: `${"y".repeat(2000)}\n`.repeat(1500) });
    const result = await run("grep", { pattern: "y" });
    expect(result.note).toContain("Truncated");
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(toolResultBytesMax);
  });

  test("list: a workspace full of files is cut, and says so", async () => {
    await h.sql`
      insert into workspace_files (workspace_id, path, content, size)
      select ${working.scope.workspaceId}, repeat('p', 100) || n, '', 0 from generate_series(1, 9000) n`;
    for (const [name, input] of [
      ["list", {}],
      ["glob", { pattern: "**" }],
    ] as const) {
      const result = await run(name, input);
      expect(result.note).toContain("Truncated");
      expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(toolResultBytesMax);
    }
  });
});
