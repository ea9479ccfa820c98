import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { realRuntimes, useRuntime } from "../harness/command-runtimes.ts";
import { eventually } from "../harness/eventually.ts";
import { callTool, failure, filesOf, newScope, type Result, upload } from "../harness/workspace-scope.ts";

// Commands are processes, and the machine may be busy.
setDefaultTimeout(400_000);

const runtimes = ["simulated", ...realRuntimes] as const;

/** What every runtime promises. */
for (const runtime of runtimes) {
  const h = await useRuntime(runtime);
  const t = await h.tenant();
  const other = await h.tenant();

  describe(`commands in the runtime ${runtime}`, () => {
    const commandsOf = (id: string) => `/v1/workspaces/${id}/commands`;
    const ask = (id: string, body: object, headers: Record<string, string> = {}) =>
      t.call("POST", commandsOf(id), { body, headers });

    test("output, error output, exit code, standard input", async () => {
      const { workspaceId } = await newScope(h, t);
      const { status, body } = await ask(workspaceId, {
        command: "cat; echo out; echo err >&2; exit 3",
        stdin: "first\n",
      });
      expect([status, body]).toEqual([
        200,
        { exitCode: 3, stdout: "first\nout\n", stderr: "err\n", truncated: false, durationMs: expect.any(Number) },
      ]);
      expect((await ask(workspaceId, { command: "cat; echo x > /dev/stderr" })).body).toMatchObject({ stdout: "" });
      expect((await ask(workspaceId, { command: "not-a-command" })).body.exitCode).toBe(127);
      expect((await t.call("GET", `/v1/workspaces/${workspaceId}`)).body.runtime).toBe(runtime);
    });

    test("what a command leaves is there for the next one, for the tools and by the interface", async () => {
      const scope = await newScope(h, t);
      await upload(t, scope, "in.txt", "b\na\n");
      await upload(t, scope, "old/x", "x");
      const tool = (command: string): Promise<Result> => callTool(scope, "bash", { command });
      await tool("sort in.txt > out.txt; rm -r old; mkdir -p made/empty; printf x >> in.txt; mv in.txt made/in");
      expect(await filesOf(scope)).toEqual({ "made/in": "b\na\nx", "out.txt": "a\nb\n" });
      const listed = await ask(scope.workspaceId, { command: "ls -a made; cat out.txt" });
      expect(listed.body.stdout).toBe(".\n..\nempty\nin\na\nb\n");
      await ask(scope.workspaceId, {
        command: "printf '#!/bin/bash\\necho ran $1\\n' > run.sh; chmod +x run.sh; rmdir made/empty",
      });
      expect((await tool("./run.sh it; ls made")).stdout).toBe("ran it\nin\n");
      await callTool(scope, "edit", { path: "run.sh", oldText: "ran", newText: "walked" });
      expect((await tool("./run.sh on")).stdout).toBe("walked on\n");
    });

    test("bytes stay bytes, names stay names, and files that were not touched keep their revision", async () => {
      const scope = await newScope(h, t);
      const bytes = new Uint8Array(256).map((_, index) => index);
      await upload(t, scope, "bin", bytes);
      await upload(t, scope, "still", "still");
      const revisions = async () =>
        new Map(
          (await h.sql`select path, revision from workspace_files where workspace_id = ${scope.workspaceId}`).map(
            ({ path, revision }) => [path, revision],
          ),
        );
      const before = await revisions();
      await ask(scope.workspaceId, {
        command:
          "cp bin copy; cat still > /dev/null; mkdir -p 'a b/ü\nline'; echo n > 'a b/ü\nline/日本'; touch still2",
      });
      const files =
        await h.sql`select content from workspace_files where workspace_id = ${scope.workspaceId} and path = 'copy'`;
      expect(new Uint8Array(files[0]?.content)).toEqual(bytes);
      expect(Object.keys(await filesOf(scope)).sort()).toEqual(["a b/ü\nline/日本", "bin", "copy", "still", "still2"]);
      expect((await ask(scope.workspaceId, { command: "cat 'a b/ü\nline/日本'; echo on >> copy" })).body.stdout).toBe(
        "n\n",
      );
      const after = await revisions();
      for (const path of ["bin", "still"]) expect(after.get(path)).toBe(before.get(path));
    });

    test("links are not kept, and named at the end of the error output; hard links become files", async () => {
      const scope = await newScope(h, t);
      await upload(t, scope, "a", "A");
      const { body } = await ask(scope.workspaceId, {
        command: "ln -s a soft; ln -s /etc/passwd secret; ln a hard; cat soft; echo B >> hard; echo err >&2",
      });
      expect(body).toMatchObject({ exitCode: 0, stdout: "A" });
      expect(body.stderr).toStartWith("err\n");
      expect(body.stderr).toMatch(/Not kept: secret \(a symbolic link\)\.\n/);
      expect(await filesOf(scope)).toEqual({ a: "AB\n", hard: "AB\n" });
      expect((await ask(scope.workspaceId, { command: "ls" })).body.stdout).toBe("a\nhard\n");
    });

    test("a command that its time has ended is 124, says so, and keeps nothing", async () => {
      const scope = await newScope(h, t);
      await upload(t, scope, "a", "A");
      // One that waits, and some that never rest, while a file is overwritten.
      for (const end of ["sleep 60", "while true; do :; done", "while true; do echo more >> a; done"]) {
        const command = `echo B > b; echo B > a; echo seen; ${end}`;
        const { body } = await ask(scope.workspaceId, { command, timeoutSeconds: 1 });
        expect([end, body.exitCode]).toEqual([end, 124]);
        expect(body.stderr).toContain("1 s");
        expect(await filesOf(scope)).toEqual({ a: "A" });
      }
      expect((await ask(scope.workspaceId, { command: "cat a" })).body.stdout).toBe("A");
    });

    test("a file that another writer changes under a command is not overwritten: the command runs again", async () => {
      const scope = await newScope(h, t);
      await upload(t, scope, "shared", "base\n");
      const running = callTool(scope, "bash", { command: "sleep 1; echo shell >> shared; cat shared > copy" });
      await Promise.all([running, callTool(scope, "edit", { path: "shared", oldText: "base", newText: "edited" })]);
      expect(await filesOf(scope)).toEqual({ shared: "edited\nshell\n", copy: "edited\nshell\n" });
    });

    test("appends that are made at once all count", async () => {
      const scope = await newScope(h, t);
      const names = ["a", "b", "c", "d", "e"];
      const commands = names.map((name) => `echo ${name} > own-${name}; echo ${name} >> log`);
      const results = await Promise.all(commands.map((command) => callTool(scope, "bash", { command })));
      expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
      const files = await filesOf(scope);
      expect(files.log?.trim().split("\n").sort()).toEqual(names);
      expect(Object.keys(files)).toEqual(["log", ...names.map((name) => `own-${name}`)]);
    });

    test("what does not fit into a workspace is not kept at all", async () => {
      const scope = await newScope(h, t);
      await upload(t, scope, "a", "A");
      const { body } = await ask(scope.workspaceId, {
        command: "echo B > a; printf '%10000000d' 1 > f1; for n in 2 3 4 5 6 7 8 9 10 11; do cp f1 f$n || exit; done",
        timeoutSeconds: 60,
      });
      expect(body.exitCode).not.toBe(0);
      if (runtime !== "simulated") expect(body.stderr).toContain("No file was changed");
      if (runtime !== "simulated") expect(await filesOf(scope)).toEqual({ a: "A" });
      expect((await ask(scope.workspaceId, { command: "ls | head -1" })).body.stdout).toBe("a\n");
    });

    test("long output is cut, and says so", async () => {
      const { workspaceId } = await newScope(h, t);
      const { body } = await ask(workspaceId, { command: "seq 1 200000; seq 1 200000 >&2; ln -s a b" });
      expect(body).toMatchObject({ exitCode: 0, truncated: true });
      expect(body.stdout).toStartWith("1\n2\n3\n");
      expect(body.stderr).toEndWith("Not kept: b (a symbolic link).\n");
      expect(JSON.stringify(body).length).toBeLessThan(256 * 1024);
    });

    test("a caller that hangs up ends its command, and nothing of it is kept", async () => {
      const scope = await newScope(h, t);
      const stop = new AbortController();
      const running = callTool(scope, "bash", { command: "echo x > x; sleep 100" }, stop.signal);
      setTimeout(() => stop.abort(new Error("hung up")), 500);
      expect(await failure(running)).toBe("hung up");
      expect((await ask(scope.workspaceId, { command: "ls" })).body.stdout).toBe("");
      expect(await filesOf(scope)).toEqual({});
    });

    test("an Idempotency-Key runs a command once", async () => {
      const scope = await newScope(h, t);
      const headers = { "Idempotency-Key": `once-${scope.workspaceId}` };
      const first = await ask(scope.workspaceId, { command: "echo x >> log; cat log" }, headers);
      const again = await ask(scope.workspaceId, { command: "echo x >> log; cat log" }, headers);
      expect([first.body.stdout, again.body]).toEqual(["x\n", first.body]);
      expect(await filesOf(scope)).toEqual({ log: "x\n" });
      const [events] = await h.sql`
        select count(*)::int as count from audit_events where resource_id = ${scope.workspaceId} and action = 'workspace.command'`;
      expect(events?.count).toBe(1);
    });

    test("others' workspaces and those that are gone are missing, and fields are checked", async () => {
      const { workspaceId } = await newScope(h, t);
      expect((await other.call("POST", commandsOf(workspaceId), { body: { command: "ls" } })).status).toBe(404);
      for (const body of [
        {},
        { command: "" },
        { command: "a\0b" },
        { command: "ls", timeoutSeconds: 301 },
        { command: "ls", more: 1 },
      ]) {
        expect((await ask(workspaceId, body)).status).toBe(400);
      }
      const sandbox = `/v1/sandboxes/sb_${workspaceId.slice(3)}`;
      const inA = await t.call("POST", `${sandbox}/commands`, { form: "a", body: { command: "echo a" } });
      expect([inA.status, inA.body.stdout]).toEqual([200, "a\n"]);
      await t.parley.workspaces.delete(workspaceId);
      expect((await ask(workspaceId, { command: "ls" })).status).toBe(404);
    });

    test("one tenant's commands leave room for another's", async () => {
      const scope = await newScope(h, t);
      const scopes = await Promise.all([1, 2, 3, 4].map(() => newScope(h, t)));
      const stop = new AbortController();
      const endless = [scope, ...scopes].map((one) =>
        failure(callTool(one, "bash", { command: "sleep 100" }, stop.signal)),
      );
      const theirs = await newScope(h, other);
      expect((await callTool(theirs, "bash", { command: "echo served" })).stdout).toBe("served\n");
      stop.abort(new Error("stopped"));
      expect(new Set(await Promise.all(endless))).toEqual(new Set(["stopped"]));
      await eventually(async () => (await callTool(scope, "bash", { command: "echo mine" })).stdout === "mine\n");
    });
  });
}
