import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { realRuntimes, useRuntime } from "../harness/command-runtimes.ts";
import { newScope, upload } from "../harness/workspace-scope.ts";

// Commands are processes, and the machine may be busy.
setDefaultTimeout(400_000);

for (const runtime of realRuntimes) {
  const h = await useRuntime(runtime, { env: { SANDBOX_CPU_SECONDS: "1" } });
  const t = await h.tenant();

  describe(`a command in the runtime ${runtime}`, () => {
    test("no memory and no descriptor of the sandbox's first process, which would outlive the command", async () => {
      const scope = await newScope(h, t);
      await upload(
        t,
        scope,
        "try.py",
        `
import os
def attempt(what, work):
    try: work(); print(what, "open")
    except OSError as error: print(what, type(error).__name__)
attempt("own memory", lambda: open("/proc/self/mem", "r+b"))
attempt("memory", lambda: open("/proc/1/mem", "r+b"))
attempt("place", lambda: open("/proc/1/syscall").read())
attempt("descriptors", lambda: os.listdir("/proc/1/fd"))
attempt("root", lambda: os.listdir("/proc/1/root"))
attempt("program", lambda: open("/proc/1/exe", "rb"))
attempt("its copy", lambda: open("/run/bash", "rb"))
attempt("its mode", lambda: os.chmod("/run/bash", 0o755))
`,
      );
      const { body } = await t.call("POST", `/v1/workspaces/${scope.workspaceId}/commands`, {
        body: { command: "python3 try.py" },
      });
      expect(body.stdout.trim().split("\n")).toEqual([
        "own memory open",
        ...["memory", "place", "descriptors", "root", "program", "its copy"].map((what) => `${what} PermissionError`),
        "its mode OSError",
      ]);
    });

    test("that used up its processor time says how long it ran, not how long it might have", async () => {
      const { workspaceId } = await newScope(h, t);
      const body = { command: "while :; do :; done", timeoutSeconds: 300 };
      const ended = (await t.call("POST", `/v1/workspaces/${workspaceId}/commands`, { body })).body;
      expect([ended.exitCode, ended.durationMs < 300_000]).toEqual([124, true]);
    });
  });
}
