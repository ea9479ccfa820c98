import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { newId } from "../src/ids.ts";
import { toolResultBytesMax } from "../src/limits.ts";
import { todoTools } from "../src/tools/todos.ts";
import type { ToolScope, TurnTool } from "../src/tools/tool.ts";
import { fileBytesMax, workspaceFilesMax } from "../src/workspaces/limits.ts";
import { readTool } from "../src/workspaces/read.ts";
import { workspaceTools } from "../src/workspaces/tools.ts";
import { eventually, type Harness, startHarness, type TestTenant } from "./harness.ts";
import { makeAgent, say } from "./seed.ts";

let h: Harness;
let t: TestTenant;
let scope: ToolScope & { workspaceId: string };
beforeAll(async () => {
  h = await startHarness({ worker: true });
  t = await h.tenant();
});
afterAll(() => h.stop());
beforeEach(async () => {
  scope = await newScope(t);
});

/** A turn of an agent with a workspace of its own. */
async function newScope(tenant: TestTenant): Promise<typeof scope> {
  const workspace = await tenant.call("POST", "/v1/workspaces", { form: "b", body: {} });
  return {
    ctx: h.ctx,
    tenantId: tenant.id,
    agentId: newId("agent"),
    sessionId: newId("session"),
    turnId: newId("turn"),
    userId: "",
    metadata: {},
    workspaceId: workspace.body.id,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into results freely.
type Result = any;

function execute(tool: TurnTool | undefined, input: unknown, abortSignal?: AbortSignal): Promise<Result> {
  const options = { toolCallId: "call", messages: [], ...(abortSignal === undefined ? {} : { abortSignal }) };
  return tool?.tool.execute?.(input, options as never) as Promise<Result>;
}

function run(name: string, input: unknown, on: ToolScope = scope, abortSignal?: AbortSignal): Promise<Result> {
  const tool = workspaceTools(on).find((one) => one.name === name);
  return execute(tool, input, abortSignal);
}

function bash(command: string, on: ToolScope = scope, abortSignal?: AbortSignal): Promise<Result> {
  return run("bash", { command }, on, abortSignal);
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    (result) => `no failure: ${JSON.stringify(result)}`,
    (error: Error) => error.message,
  );
}

async function filesOf(on = scope): Promise<Record<string, string>> {
  const rows = await h.sql<{ path: string; content: Buffer }[]>`
    select path, content from workspace_files where workspace_id = ${on.workspaceId} order by path`;
  return Object.fromEntries(rows.map(({ path, content }) => [path, content.toString()]));
}

function upload(path: string, content: string | Uint8Array) {
  const url = `/v1/workspaces/${scope.workspaceId}/files?path=${encodeURIComponent(path)}`;
  return t.call("PUT", url, { form: "b", body: content, headers: { "content-type": "application/octet-stream" } });
}

test("The group's tools, which of them only read, and none without a workspace", () => {
  const tools = workspaceTools(scope);
  expect(tools.map(({ name }) => name)).toEqual(["read", "write", "edit", "list", "glob", "grep", "bash"]);
  expect(tools.filter(({ readOnly }) => readOnly).map(({ name }) => name)).toEqual(["read", "list", "glob", "grep"]);
  expect(workspaceTools({ ...scope, workspaceId: null })).toEqual([]);
});

describe("read and write", () => {
  test("what is written reads back, and is the workspace's file over HTTP", async () => {
    const content = "line one\r\nünïcode 😀 $& \\n\n";
    expect(await run("write", { path: "/notes/a.md", content })).toEqual({
      path: "notes/a.md",
      sizeBytes: Buffer.byteLength(content),
    });
    expect(await run("read", { path: "notes//./a.md" })).toMatchObject({ content });
    const url = `/v1/workspaces/${scope.workspaceId}/files?path=notes/a.md`;
    expect((await t.call("GET", url, { form: "b" })).body).toBe(content);
    await upload("up.txt", "from outside");
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
    expect(await filesOf()).toEqual({ "d/x": "" });
  });

  test("a binary file says so, a long one is cut and says so", async () => {
    await upload("bin", new Uint8Array([0x50, 0, 0xff]));
    await upload("latin", new Uint8Array([0xe4, 0x20]));
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
    const [withWorkspace] = workspaceTools(scope, readVirtual);
    for (const tool of [withWorkspace, readTool({ ...scope, workspaceId: null }, readVirtual)]) {
      expect((await execute(tool, { path: "/.parley/ag/skills/sk/SKILL.md" })).content).toBe("# Skill");
      expect(await failure(execute(tool, { path: ".parley/ag/skills/sk/other" }))).toContain("There is no file");
      expect(await failure(execute(tool, { path: "a.txt" }))).toContain("There is no file");
    }
    expect(new Set(asked)).toEqual(new Set(["/.parley/ag/skills/sk/SKILL.md", "/.parley/ag/skills/sk/other"]));
    expect(await failure(run("read", { path: "/.parley/x" }))).toContain("There is no file");
  });

  test("a deleted workspace, and a foreign one, tell the model only that", async () => {
    const other = await h.tenant();
    const foreign = { ...scope, tenantId: other.id };
    await t.call("DELETE", `/v1/workspaces/${scope.workspaceId}`, { form: "b" });
    const own = await newScope(t);
    for (const on of [scope, { ...own, tenantId: other.id }, foreign]) {
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
    expect(await filesOf()).toEqual({ a: "\uFEFFone $& $1 $$ three" });
    await run("edit", { path: "a", oldText: " three", newText: "" });
    expect((await filesOf()).a).toEndWith("$$");
  });

  test("changes nothing when the passage is missing or there twice, or the file is none", async () => {
    await run("write", { path: "a", content: "aXaXa aaa" });
    await upload("bin", new Uint8Array([0]));
    expect(await failure(run("edit", { path: "a", oldText: "b", newText: "c" }))).toContain("does not occur");
    expect(await failure(run("edit", { path: "a", oldText: "aXa", newText: "c" }))).toContain("more than once");
    expect(await failure(run("edit", { path: "nope", oldText: "b", newText: "c" }))).toContain("There is no file");
    expect(await failure(run("edit", { path: "bin", oldText: "b", newText: "c" }))).toContain("binary");
    expect((await filesOf()).a).toBe("aXaXa aaa");
  });

  test("edits made at once all count", async () => {
    const words = Array.from({ length: 8 }, (_, n) => `word${n};`);
    await run("write", { path: "a", content: words.join("") });
    await Promise.all(words.map((word) => run("edit", { path: "a", oldText: word, newText: word.toUpperCase() })));
    expect((await filesOf()).a).toBe(words.join("").toUpperCase());
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
      select ${scope.workspaceId}, repeat('a', 200) || n, '', 0 from generate_series(1, 2000) n`;
    const startedAt = performance.now();
    const outcomes = await Promise.all([
      run("glob", { pattern: `${"*a".repeat(400)}=` }).catch((error: Error) => error.message),
      run("glob", { pattern: "**/".repeat(300) }).catch((error: Error) => error.message),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(outcomes[0]).toContain("takes too long");
    expect(await failure(run("glob", { pattern: "{a,b}".repeat(100) }))).toContain("too many");
    expect(await failure(run("glob", { pattern: "a".repeat(1001) }))).toContain("at most");
  });

  test("grep: lines with their places; one file, a folder, binary files passed over", async () => {
    await upload("bin", new Uint8Array([0, 0x54, 0x68]));
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
      select ${scope.workspaceId}, repeat('p', 100) || n, '', 0 from generate_series(1, 9000) n`;
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

describe("bash", () => {
  test("output, error output, exit code", async () => {
    expect(await bash("echo out; echo err >&2; exit 3")).toEqual({ exitCode: 3, stdout: "out\n", stderr: "err\n" });
    expect((await bash("cat <<'EOF' | sort\n  b\na\nEOF")).stdout).toBe("  b\na\n");
    expect((await bash("not-a-command")).exitCode).toBe(127);
    expect((await bash("if then")).exitCode).not.toBe(0);
  });

  test("works on the workspace's files, and what it leaves is there for the next call", async () => {
    await run("write", { path: "in.txt", content: "b\na\n" });
    await run("write", { path: "old/x", content: "x" });
    await bash("sort in.txt > out.txt; rm -r old; mkdir -p made/empty; printf 'x' >> in.txt; mv in.txt made/in");
    expect(await filesOf()).toEqual({ "made/in": "b\na\nx", "out.txt": "a\nb\n" });
    expect((await bash("cd made/empty && pwd && ls -a .. && cat /out.txt")).stdout).toBe(
      "/made/empty\n.\n..\nempty\nin\na\nb\n",
    );
    await bash("rmdir made/empty; echo '#!/bin/bash\necho ran $1' > run.sh; chmod +x run.sh");
    expect((await bash("./run.sh it; ls made; find . -type f | sort")).stdout).toBe(
      "ran it\nin\n./made/in\n./out.txt\n./run.sh\n",
    );
    await run("edit", { path: "run.sh", oldText: "ran", newText: "walked" });
    expect((await bash("./run.sh on")).stdout).toBe("walked on\n");
  });

  test("bytes stay bytes; files that were not touched keep their revision", async () => {
    const bytes = new Uint8Array(256).map((_, index) => index);
    await upload("bin", bytes);
    await upload("still", "still");
    const revision = async () =>
      (
        await h.sql`select revision from workspace_files where workspace_id = ${scope.workspaceId} and path = 'still'`
      )[0]?.revision;
    const before = await revision();
    await bash(
      "cp bin copy; cat bin > cat; tar cf t.tar bin; mkdir x; tar xf t.tar -C x; cat still; gzip -k bin; gunzip -c bin.gz > unzipped",
    );
    const rows = await h.sql<{ path: string; content: Buffer }[]>`
      select path, content from workspace_files where workspace_id = ${scope.workspaceId}
        and path in ('bin', 'copy', 'cat', 'x/bin', 'unzipped') order by path`;
    expect(rows.map(({ path }) => path)).toEqual(["bin", "cat", "copy", "unzipped", "x/bin"]);
    for (const { content } of rows) expect(new Uint8Array(content)).toEqual(bytes);
    expect(await revision()).toBe(before);
  });

  test("symbolic links serve the command and are not kept; hard links become files", async () => {
    await run("write", { path: "a", content: "A" });
    const result = await bash("ln -s a soft; ln a hard; cat soft; echo B >> hard; ln -s loop loop; cat loop");
    expect(result.stdout).toBe("A");
    expect(result.note).toContain("soft (a symbolic link)");
    expect(await filesOf()).toEqual({ a: "AB\n", hard: "AB\n" });
  });

  test("reaches nothing outside: no environment, host files, network or other languages", async () => {
    const result = await bash(
      "env; cat /etc/passwd /proc/self/environ /proc/1/environ ../../../etc/hostname; ls /; ls /work /home /proc; " +
        "ln -s /etc/passwd p; cat p; ln -s /proc/self up; cat up/environ; ls /dev; cat /dev/sda; cd ..; pwd",
    );
    expect(result.stdout).not.toContain("root:");
    for (const name of Object.keys(process.env).filter((name) => /PARLEY|DATABASE|TOKEN|SECRET|HOSTNAME_/.test(name)))
      expect(result.stdout).not.toContain(name);
    expect(result.stdout).toEndWith("/\n");
    for (const program of [
      "curl http://127.0.0.1",
      "wget x",
      "nc x 1",
      "python3 -c 1",
      "node -e 1",
      "js-exec -c 1",
      "sqlite3 x .tables",
      "bun x",
      "ssh x",
    ])
      expect((await bash(`${program}; echo code $?`)).stdout).toBe("code 127\n");
    // A path like any other.
    expect((await bash("echo x > /dev/tcp/127.0.0.1/80; cat /dev/tcp/127.0.0.1/80")).stdout).toBe("x\n");
    expect(await filesOf()).toEqual({ "dev/tcp/127.0.0.1/80": "x\n" });
  });

  test("nothing of one workspace or command is in another", async () => {
    await bash("echo secret > s; export LEAK=1; f() { :; }");
    const other = await newScope(await h.tenant());
    const result = await bash("ls -aR /; echo [$LEAK]; type f", other);
    expect(result.stdout).not.toContain("secret");
    expect(result.stdout).toContain("[]");
    expect(await filesOf(other)).toEqual({});
    expect((await bash("echo [$LEAK]")).stdout).toBe("[]\n");
  });

  test("rm -rf / leaves the shell alive; devices are no files", async () => {
    await run("write", { path: "a", content: "A" });
    await run("write", { path: "dev/own", content: "mine" });
    expect(
      (await bash("echo x > /dev/null; cp a /dev/null; cat /dev/null; cat dev/own; rm -rf /dev/null; ls dev")).stdout,
    ).toBe("mineown\n");
    await bash("rm -rf ./* 2>/dev/null; rm -rf /; echo left > left");
    const left = await filesOf();
    expect(left.left).toBe("left\n");
    expect(left.a).toBeUndefined();
  });

  test("long output is cut, and says so; control characters come through as text", async () => {
    const result = await bash(
      "for i in {1..20000}; do echo 'a \"quoted\" line of output'; done; printf '\\0\\001' >&2",
    );
    expect(result.note).toContain("Truncated");
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(toolResultBytesMax);
    expect(result.stderr).toBe("\uFFFD\u0001");
  });

  test("a file beyond 10 MiB, a workspace beyond its limits: the command fails, what was there stays", async () => {
    await run("write", { path: "keep", content: "kept" });
    const big = await bash("printf '%11000000d' 1 > big; echo on");
    expect([big.exitCode === 0, big.stderr]).toEqual([false, expect.stringContaining("too large")]);
    await bash("rm -f big");
    await h.sql`
      insert into workspace_files (workspace_id, path, content, size)
      select ${scope.workspaceId}, 'fill/' || n, '', 0 from generate_series(1, ${workspaceFilesMax - 2}) n`;
    expect((await bash("echo 1 > one")).exitCode).toBe(0);
    expect((await bash("echo 2 > two")).stderr).toContain("no space left");
    expect((await bash("echo again > one; rm fill/1; echo 2 > two")).exitCode).toBe(0);
    expect((await filesOf()).keep).toBe("kept");
  });

  test("appends made at once by commands of one step all count", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const results = await Promise.all(names.map((name) => bash(`echo ${name} > own-${name}; echo ${name} >> log`)));
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
    const files = await filesOf();
    expect(files.log?.trim().split("\n").sort()).toEqual(names);
    expect(Object.keys(files)).toEqual(["log", ...names.map((name) => `own-${name}`)]);
  });

  test("a command and other tools at once lose nothing of each other", async () => {
    await run("write", { path: "shared", content: "base\n" });
    await Promise.all([
      bash("sleep 0.5; cat shared > copy; echo shell >> shared"),
      run("write", { path: "other", content: "other" }),
      run("edit", { path: "shared", oldText: "base", newText: "edited" }),
    ]);
    expect(await filesOf()).toMatchObject({ other: "other", shared: "edited\nshell\n", copy: expect.any(String) });
  });

  test("an endless command is cut after 30 s, and what it had written is kept", async () => {
    const startedAt = performance.now();
    // Side by side, because each takes its 30 s; three tenants, because one has two places.
    const others = [await newScope(await h.tenant()), await newScope(await h.tenant())];
    let longestPauseMs = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longestPauseMs = Math.max(longestPauseMs, performance.now() - last);
      last = performance.now();
    }, 10);
    const [busy, waiting, stuck] = await Promise.all([
      bash("echo early > early; while true; do :; done"),
      bash("sleep 100", others[0]),
      bash('s=$(printf "a%.0s" {1..200}); touch $s; ls *a*a*a*a*a*a*a*a*a*a*=', others[1]),
    ]);
    clearInterval(beat);
    for (const result of [busy, waiting, stuck]) {
      expect(result.exitCode).toBe(124);
      expect(result.note).toContain("cut after 30 s");
    }
    expect(performance.now() - startedAt).toBeLessThan(40_000);
    expect(longestPauseMs).toBeLessThan(2_000);
    expect(await filesOf()).toEqual({ early: "early\n" });
    expect(await filesOf(others[1])).toEqual({});
  }, 60_000);

  test("hostile commands end soon and leave the service as it was", async () => {
    const commands = [
      ":(){ :|:& };:",
      "f() { f; f; }; f",
      "yes",
      "echo {1..99999999}",
      "seq 1 100000000000",
      "x=a; while true; do x=$x$x; done",
      "awk 'BEGIN{x=\"a\"; while(1) x=x x}'",
      "jq -n '[range(1e12)]'",
      "jq -n 'def f: f; f'",
      "s=$(printf 'a%.0s' {1..20000}); grep -E '(.*)*(.*)*=' <<< $s; [[ $s =~ (a+)+= ]]; sed 's/.*.*.*.*=/x/' <<< $s > /dev/null",
      "eval \"$(printf '(%.0s' {1..20000})\"",
      "while true; do printf '%15000000d' 1; done",
      "__proto__=1; constructor=x; declare -A m; m[__proto__]=1; echo ${m[__proto__]}",
      "exec 5<&0; exec >&-; echo lost",
    ];
    for (const command of commands) {
      const result = await bash(command);
      expect(typeof result.exitCode).toBe("number");
      expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(toolResultBytesMax);
    }
    expect(await filesOf()).toEqual({});
  }, 60_000);

  test("a command that eats memory is cut", async () => {
    const result = await bash('for i in {1..2000}; do printf -v "v$i" "%15000000d" $i; done; echo survived');
    expect(result.stdout).not.toContain("survived");
    expect(result.note).toContain("memory");
  }, 60_000);

  test("an aborted call ends at once and keeps nothing", async () => {
    const stop = new AbortController();
    const startedAt = performance.now();
    const running = bash("echo x > x; while true; do :; done", scope, stop.signal);
    await eventually(() => performance.now() - startedAt > 300);
    stop.abort(new Error("stopped"));
    expect(await failure(running)).toBe("stopped");
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(await filesOf()).toEqual({});
    expect(await failure(bash("echo x", scope, AbortSignal.abort(new Error("stopped"))))).toBe("stopped");
  });

  test("one tenant's endless commands leave room for another's", async () => {
    const stop = new AbortController();
    const endless = [1, 2, 3, 4, 5].map(() => failure(bash("while true; do :; done", scope, stop.signal)));
    const other = await newScope(await h.tenant());
    expect((await bash("echo served", other)).stdout).toBe("served\n");
    stop.abort(new Error("stopped"));
    expect(new Set(await Promise.all(endless))).toEqual(new Set(["stopped"]));
    expect((await bash("echo mine")).stdout).toBe("mine\n");
  });
});

describe("Artifacts: DELETE /v1/agents/:agentId/sessions/:sessionId", () => {
  async function session(): Promise<{ agentId: string; sessionId: string; on: typeof scope }> {
    const agent = await t.call("POST", "/v1/agents", { form: "b", body: { name: `a ${crypto.randomUUID()}` } });
    const [agentId, sessionId] = [agent.body.id, newId("session")];
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${sessionId}, ${t.id}, ${agentId}, true)`;
    return { agentId, sessionId, on: { ...scope, agentId, sessionId } };
  }

  function remove(
    { agentId, sessionId }: { agentId: string; sessionId: string },
    query: string,
    form: "a" | "b" = "b",
  ) {
    return t.call("DELETE", `/v1/agents/${agentId}/sessions/${sessionId}${query}`, { form });
  }

  test("204 deleteArtifacts=true deletes what the session wrote last, and nothing else", async () => {
    const [one, two] = [await session(), await session()];
    await run("write", { path: "written", content: "1" }, one.on);
    await bash("echo 1 > shell; echo 1 > then-two; mkdir empty", one.on);
    await run("write", { path: "then-upload", content: "1" }, one.on);
    await upload("uploaded", "1");
    await upload("edited", "1");
    await run("edit", { path: "edited", oldText: "1", newText: "2" }, one.on);
    await upload("then-upload", "2");
    await bash("echo 2 > then-two; cat shell", two.on);
    await run("read", { path: "uploaded" }, one.on);
    expect((await remove(one, "?deleteArtifacts=true")).status).toBe(204);
    expect(Object.keys(await filesOf())).toEqual(["then-two", "then-upload", "uploaded"]);
    expect((await remove(two, "?deleteArtifacts=false")).status).toBe(204);
    expect(Object.keys(await filesOf())).toHaveLength(3);
  });

  test("204 in form A keeps all; 400 without the choice in form B", async () => {
    const one = await session();
    await run("write", { path: "a", content: "1" }, one.on);
    expect((await remove(one, "")).status).toBe(400);
    expect((await remove(one, "?deleteArtifacts=maybe")).status).toBe(400);
    expect((await remove(one, "", "a")).status).toBe(204);
    expect(await filesOf()).toEqual({ a: "1" });
  });

  test("a stateless generation's files are nobody's artifacts", async () => {
    await run("write", { path: "a", content: "1" }, { ...scope, sessionId: null });
    const [row] = await h.sql`select session_id from workspace_files where workspace_id = ${scope.workspaceId}`;
    expect(row?.session_id).toBeNull();
  });
});

describe("write_todos", () => {
  const todos = [
    { content: "one", status: "completed" },
    { content: "two", status: "pending" },
  ];

  test("answers the list and keeps it with the session, each in place of the one before", async () => {
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${scope.sessionId}, ${t.id}, ${scope.agentId}, true)`;
    const [tool] = todoTools(scope);
    expect([tool?.name, tool?.readOnly]).toEqual(["write_todos", false]);
    const kept = async () => (await h.sql`select todos from sessions where id = ${scope.sessionId}`)[0]?.todos;
    for (const list of [todos, todos.slice(1), []]) {
      expect(await execute(tool, { todos: list })).toEqual({ todos: list });
      expect(await kept()).toEqual(list);
    }
    expect(await execute(todoTools({ ...scope, sessionId: null })[0], { todos })).toEqual({ todos });
  });
});

describe("A turn with the tool groups", () => {
  test("POST /v1/agents/:agentId/sessions 201: the model writes, runs and reads; the files go with the session", async () => {
    const agentId = await makeAgent(h, t, { tools: ["workspace", "write_todos"] });
    const workspaceId = (await t.call("GET", `/v1/agents/${agentId}`, { form: "b" })).body.workspaceId;
    const calls = [
      ["write", { path: "a.txt", content: "from the model\n" }],
      ["bash", { command: "cat a.txt > b.txt; wc -l < b.txt" }],
      ["write_todos", { todos: [{ content: "read", status: "pending" }] }],
      ["read", { path: "missing.txt" }],
      ["read", { path: "b.txt" }],
    ] as const;
    const script = calls.map(([tool, input]) => `tool=${tool} args=${JSON.stringify(input)}`).join("; ");
    const turn = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      form: "b",
      body: { message: say(`[[sim: ${script}; text=done ]]`), stream: false },
    });
    expect(turn.status).toBe(201);
    const parts = turn.body.message.parts.filter(({ type }: { type: string }) => type.startsWith("tool-"));
    expect(parts.map((part: Result) => part.output ?? part.errorText)).toEqual([
      { path: "a.txt", sizeBytes: 15 },
      { exitCode: 0, stdout: "1\n", stderr: "" },
      { todos: [{ content: "read", status: "pending" }] },
      "There is no file missing.txt.",
      { path: "b.txt", content: "from the model\n", sizeBytes: 15 },
    ]);
    const list = async () => (await t.call("GET", `/v1/workspaces/${workspaceId}/files`, { form: "b" })).body.files;
    expect(await list()).toHaveLength(2);
    const path = `${turn.headers.get("location")}?deleteArtifacts=true`;
    expect((await t.call("DELETE", path, { form: "b" })).status).toBe(204);
    expect(await list()).toEqual([]);
  });
});
