import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { toolResultBytesMax } from "../../src/kernel/limits.ts";
import type { ToolScope } from "../../src/tools/tool.ts";
import { workspaceFilesMax } from "../../src/workspaces/limits.ts";
import { eventually } from "../harness/harness.ts";
import {
  callTool,
  failure,
  filesOf,
  newScope,
  type Result,
  upload,
  useWorkingScope,
  type WorkingScope,
} from "../harness/workspace-scope.ts";

// One test takes 30 s, and others run dozens of commands, each in a process of its own, on a machine that may be busy.
setDefaultTimeout(400_000);

const working = await useWorkingScope();
const { h, t, run } = working;

function bash(command: string, on: ToolScope = working.scope, abortSignal?: AbortSignal): Promise<Result> {
  return callTool(on, "bash", { command }, abortSignal);
}

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
    expect(await filesOf(working.scope)).toEqual({ "made/in": "b\na\nx", "out.txt": "a\nb\n" });
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
    await upload(t, working.scope, "bin", bytes);
    await upload(t, working.scope, "still", "still");
    const revision = async () =>
      (
        await h.sql`select revision from workspace_files where workspace_id = ${working.scope.workspaceId} and path = 'still'`
      )[0]?.revision;
    const before = await revision();
    await bash(
      "cp bin copy; cat bin > cat; tar cf t.tar bin; mkdir x; tar xf t.tar -C x; cat still; gzip -k bin; gunzip -c bin.gz > unzipped",
    );
    const rows = await h.sql<{ path: string; content: Buffer }[]>`
      select path, content from workspace_files where workspace_id = ${working.scope.workspaceId}
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
    expect(await filesOf(working.scope)).toEqual({ a: "AB\n", hard: "AB\n" });
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
      expect(await bash(`${program}; echo code $?`)).toMatchObject({
        stdout: "code 127\n",
        stderr: `bash: ${program.split(" ")[0]}: command not found\n`,
      });
    expect((await bash("python3 -c 1 2>&1")).stdout).toBe("bash: python3: command not found\n");
    // A path like any other.
    expect((await bash("echo x > /dev/tcp/127.0.0.1/80; cat /dev/tcp/127.0.0.1/80")).stdout).toBe("x\n");
    expect(await filesOf(working.scope)).toEqual({ "dev/tcp/127.0.0.1/80": "x\n" });
  });

  test("nothing of one workspace or command is in another", async () => {
    await bash("echo secret > s; export LEAK=1; f() { :; }");
    const other = await newScope(h, await h.tenant());
    const result = await bash("ls -aR /; echo [$LEAK]; type f", other);
    expect(result.stdout).not.toContain("secret");
    expect(result.stdout).toContain("[]");
    expect(await filesOf(other)).toEqual({});
    expect((await bash("echo [$LEAK]")).stdout).toBe("[]\n");
  });

  test("a limit that is met is told without advice to whoever embeds the shell", async () => {
    const { exitCode, stderr } = await bash("f() { f; }; f");
    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(/maximum recursion depth \(\d+\) exceeded\n$/);
  });

  test("rm -rf / leaves the shell alive; devices are no files", async () => {
    await run("write", { path: "a", content: "A" });
    await run("write", { path: "dev/own", content: "mine" });
    expect(
      (await bash("echo x > /dev/null; cp a /dev/null; cat /dev/null; cat dev/own; rm -rf /dev/null; ls dev")).stdout,
    ).toBe("mineown\n");
    await bash("rm -rf ./* 2>/dev/null; rm -rf /; echo left > left");
    for (const [command, stderr] of [
      ["rm -rf /", "rm: cannot remove '/': It is the root of the workspace\n"],
      ["rm -fR -- . /dev/null", /'\.': It is the root.*\n.*'\/dev\/null': Device or resource busy\n$/],
      ["rm nothing", "rm: cannot remove 'nothing': No such file or directory\n"],
      ["rm -f /", "rm: cannot remove '/': Is a directory\n"],
      ["rm -x left", "rm: unrecognized option '-x'\n"],
      ["rm", "rm: missing operand\n"],
    ] as const)
      expect(await bash(command)).toMatchObject({ exitCode: 1, stdout: "", stderr: expect.stringMatching(stderr) });
    expect(await bash("rm -f nothing left/below; rm -f")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    const left = await filesOf(working.scope);
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
      select ${working.scope.workspaceId}, 'fill/' || n, '', 0 from generate_series(1, ${workspaceFilesMax - 2}) n`;
    expect((await bash("echo 1 > one")).exitCode).toBe(0);
    expect((await bash("echo 2 > two")).stderr).toContain("no space left");
    expect((await bash("echo again > one; rm fill/1; echo 2 > two")).exitCode).toBe(0);
    expect((await filesOf(working.scope)).keep).toBe("kept");
  });

  test("appends made at once by commands of one step all count", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const results = await Promise.all(names.map((name) => bash(`echo ${name} > own-${name}; echo ${name} >> log`)));
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
    const files = await filesOf(working.scope);
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
    expect(await filesOf(working.scope)).toMatchObject({
      other: "other",
      shared: "edited\nshell\n",
      copy: expect.any(String),
    });
  });

  test("an endless command is cut after 30 s, and nothing that it wrote is kept", async () => {
    const startedAt = performance.now();
    // Side by side, because each takes its 30 s; three tenants, because one has two places.
    const others = [await newScope(h, await h.tenant()), await newScope(h, await h.tenant())];
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
    // A command that is not cut ends much later or never, and one in this process would stop it for 30 s.
    expect(performance.now() - startedAt).toBeLessThan(120_000);
    expect(longestPauseMs).toBeLessThan(20_000);
    expect(await filesOf(working.scope)).toEqual({});
    expect(await filesOf(others[1] as WorkingScope)).toEqual({});
  });

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
      "__proto__=1; constructor=x; declare -A m; m[__proto__]=1; echo $__proto__",
      "exec 5<&0; exec >&-; echo lost",
    ];
    for (const command of commands) {
      const result = await bash(command);
      expect(typeof result.exitCode).toBe("number");
      expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(toolResultBytesMax);
    }
    expect(await filesOf(working.scope)).toEqual({});
  });

  test("a command that eats memory is cut", async () => {
    const result = await bash('for i in {1..2000}; do printf -v "v$i" "%15000000d" $i; done; echo survived');
    expect(result.stdout).not.toContain("survived");
    expect(result.note).toContain("memory");
  });

  test("an aborted call ends at once and keeps nothing", async () => {
    const stop = new AbortController();
    const startedAt = performance.now();
    const running = bash("echo x > x; while true; do :; done", working.scope, stop.signal);
    await eventually(() => performance.now() - startedAt > 300);
    stop.abort(new Error("stopped"));
    expect(await failure(running)).toBe("stopped");
    // By itself it would be cut after 30 s.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
    expect(await filesOf(working.scope)).toEqual({});
    expect(await failure(bash("echo x", working.scope, AbortSignal.abort(new Error("stopped"))))).toBe("stopped");
  });

  test("one tenant's endless commands leave room for another's", async () => {
    const stop = new AbortController();
    const endless = [1, 2, 3, 4, 5].map(() => failure(bash("while true; do :; done", working.scope, stop.signal)));
    const other = await newScope(h, await h.tenant());
    expect((await bash("echo served", other)).stdout).toBe("served\n");
    stop.abort(new Error("stopped"));
    expect(new Set(await Promise.all(endless))).toEqual(new Set(["stopped"]));
    expect((await bash("echo mine")).stdout).toBe("mine\n");
  });
});
