import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { refusedCalls } from "../../src/workspaces/bubblewrap/seccomp.ts";
import { realRuntimes, useRuntime } from "../harness/command-runtimes.ts";
import { eventually } from "../harness/eventually.ts";
import { callTool, failure, filesOf, newScope, upload, type WorkingScope } from "../harness/workspace-scope.ts";

// Commands are processes, and the machine may be busy.
setDefaultTimeout(400_000);

/** What both runtimes of real programs promise, and what was tried against them. */
for (const runtime of realRuntimes) {
  const h = await useRuntime(runtime, { env: { SANDBOX_MEMORY_MIB: "256", SANDBOX_CPU_SECONDS: "5" } });
  const t = await h.tenant();
  const run = async (scope: WorkingScope, command: string, more: object = {}) => {
    const { status, body } = await t.call("POST", `/v1/workspaces/${scope.workspaceId}/commands`, {
      body: { command, ...more },
    });
    expect([status, body.error]).toEqual([200, undefined]);
    return body as { exitCode: number; stdout: string; stderr: string; durationMs: number };
  };
  /** Runs Python, which prints one line for each thing that it tries. */
  const python = async (scope: WorkingScope, program: string, more: object = {}) => {
    await upload(t, scope, "try.py", program);
    return run(scope, "python3 try.py", more);
  };

  describe(`programs in the runtime ${runtime}`, () => {
    test("real programs, at /workspace, which is HOME; tools take that path too", async () => {
      const scope = await newScope(h, t);
      await callTool(scope, "write", {
        path: "/workspace/sum.py",
        content: "print(sum(int(x) for x in open('n.csv')))",
      });
      const { stdout } = await run(
        scope,
        "seq 1 10 > ~/n.csv; python3 sum.py; pwd; echo $HOME; whoami; id -u; hostname; bash --version | head -c 8",
      );
      expect(stdout).toBe("55\n/workspace\n/workspace\nagent\n1000\nsandbox\nGNU bash");
      expect((await callTool(scope, "read", { path: "/workspace/n.csv" })).content).toStartWith("1\n2\n");
      expect((await callTool(scope, "glob", { pattern: "/workspace/*.csv" })).paths).toEqual(["n.csv"]);
      expect((await callTool(scope, "grep", { pattern: "^10$", path: "/workspace" })).matches).toHaveLength(1);
      expect((await callTool(scope, "bash", { command: "echo $((6*7)) > /workspace/a; cat a" })).stdout).toBe("42\n");
    });

    test("commands of a workspace do not overlap, whichever process runs them", async () => {
      const scope = await newScope(h, t);
      const commands = [1, 2, 3].map(() =>
        run(scope, "test ! -e busy && touch busy && sleep 0.3 && rm busy && echo alone"),
      );
      for (const { stdout } of await Promise.all(commands)) expect(stdout).toBe("alone\n");
      // As another process has it, which is lost.
      const startedAtMs = performance.now();
      await h.sql`
        update workspaces set command_lease = 'another', command_lease_ends_at = clock_timestamp() + interval '2 s'
        where id = ${scope.workspaceId}`;
      expect((await run(scope, "echo mine")).stdout).toBe("mine\n");
      expect(performance.now() - startedAtMs).toBeGreaterThan(1_500);
      await eventually(async () => {
        const [left] = await h.sql`select command_lease from workspaces where id = ${scope.workspaceId}`;
        return left?.commandLease === null;
      });
    });

    test("nothing of the service or of the host: variables, files, processes", async () => {
      const scope = await newScope(h, t);
      const { stdout } = await run(
        scope,
        "env; cat /proc/1/environ /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; ls / /proc | cat; ls -a ~ /tmp /dev/shm /run /var",
      );
      expect(stdout).not.toMatch(/DATABASE|REDIS|ENCRYPTION|SANDBOX_|bwrap|setpriv|nsenter|node_modules|parley/i);
      for (const path of [
        "/root",
        "/home",
        "/work",
        process.cwd(),
        "/var/lib",
        "/etc/shadow",
        "/sys",
        "/boot",
        "/proc/1/root/root",
        "/dev/sda",
        "/dev/vda",
        "/dev/mem",
        "/dev/kmsg",
      ]) {
        expect([path, (await run(scope, `ls ${path}`)).exitCode]).not.toEqual([path, 0]);
      }
      expect((await run(scope, "ls /proc | grep -c '^[0-9]'")).stdout.trim()).toMatch(/^[1-6]$/);
      expect((await run(scope, "cat /etc/passwd | wc -l; cut -d: -f1 /etc/passwd")).stdout).toBe("2\nagent\nnobody\n");
    });

    test("writes reach the workspace, /tmp and /dev/shm alone; /tmp is new each time", async () => {
      const scope = await newScope(h, t);
      for (const path of [
        "/x",
        "/usr/x",
        "/etc/x",
        "/dev/x",
        "/proc/x",
        "/bin/x",
        "/var/x",
        "/run/x",
        "/usr/bin/ls",
        "/proc/sys/kernel/hostname",
        "/etc/passwd",
      ]) {
        expect([path, (await run(scope, `echo x >> ${path}`)).exitCode]).toEqual([path, 1]);
      }
      expect(
        (await run(scope, "echo x > /tmp/x && echo x > /dev/shm/x && echo x > /var/tmp/y && ls /tmp")).stdout,
      ).toBe("x\ny\n");
      expect((await run(scope, "ls /tmp /dev/shm")).stdout).toBe("/dev/shm:\n\n/tmp:\n");
    });

    test("no network: no address, no name, no abstract socket of the host", async () => {
      const abstract = createServer().listen({ path: `\0parley-test-${process.pid}-${runtime}` });
      const tcp = createServer().listen(0, "127.0.0.1");
      afterAll(() => void [abstract.close(), tcp.close()]);
      const port = (tcp.address() as { port: number }).port;
      const scope = await newScope(h, t);
      const { stdout } = await python(
        scope,
        `
import socket
def attempt(what, work):
    try: work(); print(what, "open")
    except OSError as error: print(what, "shut")
def tcp(host, port): socket.create_connection((host, port), 2)
attempt("tcp", lambda: tcp("127.0.0.1", ${port}))
attempt("metadata", lambda: tcp("169.254.169.254", 80))
attempt("out", lambda: tcp("1.1.1.1", 443))
attempt("name", lambda: socket.getaddrinfo("example.com", 80))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0parley-test-${process.pid}-${runtime}"))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("alg", lambda: socket.socket(38, 5))
server = socket.create_server(("127.0.0.1", 0)); attempt("own", lambda: tcp("127.0.0.1", server.getsockname()[1]))
`,
      );
      expect(stdout).toBe(
        "tcp shut\nmetadata shut\nout shut\nname shut\nabstract shut\nvsock shut\npacket shut\nraw shut\nalg shut\nown open\n",
      );
    });

    test.skipIf(process.arch !== "x64")(
      "each system call of the filter is refused, and namespaces by any way",
      async () => {
        const numbers = Object.entries(refusedCalls).map(([name, [number]]) => [name, number] as const);
        const scope = await newScope(h, t);
        const { stdout } = await python(
          scope,
          `
import ctypes, os, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return errno.errorcode.get(ctypes.get_errno(), "done") if result == -1 else "done"
for name, number in ${JSON.stringify(numbers)}: print(name, call(number, 0, 0, 0, 0, 0, 0))
for name, number in [["clone3", 435], ["io_uring_setup", 425], ["unknown", 499], ["x32", 0x40000000]]: print(name, call(number, 0, 0))
print("own keys", call(250, 0, -3, 1))
for flag in [0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000]: print("clone", call(56, flag | 17, 0))
`,
        );
        const lines = stdout.trim().split("\n");
        const expected = [
          ...numbers.map(([name]) => `${name} EPERM`),
          ...["clone3", "io_uring_setup", "unknown", "x32"].map((name) => `${name} ENOSYS`),
          "own keys EPERM",
          ...Array(7).fill("clone EPERM"),
        ];
        expect(lines).toEqual(expected);
        for (const command of [
          "unshare -U true",
          "unshare -r true",
          "mount -t tmpfs x /tmp",
          "chroot / true",
          "su -c true",
          "bwrap --ro-bind / / true",
        ])
          expect([command, (await run(scope, command)).exitCode]).not.toEqual([command, 0]);
      },
    );

    test("no privileges: capabilities, set-user-ID, no new privileges, device nodes", async () => {
      const scope = await newScope(h, t);
      const { stdout } = await run(
        scope,
        "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; cat /proc/self/uid_map | tr -s ' '",
      );
      for (const line of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
        expect(stdout).toContain(`${line}:\t0000000000000000`);
      expect(stdout).toContain("NoNewPrivs:\t1");
      expect(stdout).toContain("Seccomp:\t2");
      expect(stdout).toMatch(/ 1000 \d+ 1\n$/);
      expect((await run(scope, "mknod d c 1 3 || mknod d b 8 0")).exitCode).toBe(1);
      expect((await run(scope, "cp /bin/sleep s; chmod 6755 s; chown 0 s")).exitCode).toBe(1);
    });

    test("pipes, sockets, odd names and wrong bytes are left out and named, and change no exit code", async () => {
      const scope = await newScope(h, t);
      const { exitCode, stderr } = await run(
        scope,
        `mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'; echo x > $'bad\\xff'; mkdir .parley; echo x > .parley/y
         ln -s /proc/1/root root; ln -s / slash; echo kept > $'new\\nline'; echo kept > -rf; echo kept > '*'; mkdir -p a/b; ln -s ../../.. a/b/up; truncate -s 11M big`,
      );
      expect(exitCode).toBe(0);
      for (const name of [
        "pipe (a named pipe)",
        "sock (a socket)",
        "root (a symbolic link)",
        "slash (a symbolic link)",
        "a/b/up (a symbolic link)",
        "big (larger than 10 MiB)",
        ".parley (",
        "not UTF-8",
      ])
        expect(stderr).toContain(name);
      expect(await filesOf(scope)).toEqual({ "*": "kept\n", "-rf": "kept\n", "new\nline": "kept\n" });
      expect((await run(scope, "LC_ALL=C ls -A | cat -A")).stdout).toBe("*$\n-rf$\na$\nnew$\nline$\n");
    });

    test("a link in the place of a folder leads no later write out of the workspace", async () => {
      const scope = await newScope(h, t);
      await upload(t, scope, "a/f", "one");
      await run(scope, "rm -r a; ln -s /tmp a; ln -s /etc/passwd b");
      expect(await filesOf(scope)).toEqual({});
      await upload(t, scope, "a/f", "two");
      await upload(t, scope, "b", "mine");
      expect((await run(scope, "cat a/f b; ls /tmp; ls -ld a | cut -c1")).stdout).toBe("twomined\n");
    });

    test("files without permission come back, and folders too", async () => {
      const scope = await newScope(h, t);
      await run(scope, "mkdir d; echo x > d/x; chmod 000 d/x d; echo y > y; chmod 000 y; chmod 000 .");
      expect(await filesOf(scope)).toEqual({ "d/x": "x\n", y: "y\n" });
      expect((await run(scope, "cat d/x y; echo z > d/z")).stdout).toBe("x\ny\n");
    });

    test("past a limit a write or a fork is refused, and is the program's own error", async () => {
      const scope = await newScope(h, t);
      const full = await run(
        scope,
        "for n in 1 2 3; do head -c 200M /dev/zero > big$n || echo full $n; done; rm big*; echo kept > kept",
        { timeoutSeconds: 60 },
      );
      expect([full.exitCode, full.stdout]).toEqual([0, "full 3\n"]);
      expect(full.stderr).toContain("No space left on device");
      expect(await filesOf(scope)).toEqual({ kept: "kept\n" });
      expect((await run(scope, "head -c 300M /dev/zero > /tmp/x")).stderr).toContain("No space left");
      expect((await run(scope, "head -c 300M /dev/zero > /dev/shm/x")).stderr).toContain("No space left");
      const files = await python(
        scope,
        "import os\ncount = 0\ntry:\n  while True: open(f'/tmp/{count}', 'w'); count += 1\nexcept OSError as error: print(error.strerror, count > 20000)",
      );
      expect(files.stdout).toBe("No space left on device True\n");
      const open = await python(
        scope,
        "held = []\ntry:\n  while True: held.append(open('/dev/null'))\nexcept OSError as error: print(error.strerror, len(held) < 1024)",
      );
      expect(open.stdout).toBe("Too many open files True\n");
      const forks = await python(
        scope,
        "import os, time\ncount = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(60)\n    count += 1\nexcept OSError as error: print(error.strerror, 400 < count < 512)",
      );
      expect(forks.stdout).toBe("Resource temporarily unavailable True\n");
    });

    test("a sparse file costs no memory and is left out; one process has no more memory than all may have", async () => {
      const scope = await newScope(h, t);
      const sparse = await run(scope, "truncate -s 400M sparse; truncate -s 1000G huge; ls");
      expect(sparse.stderr).toContain("Not kept: sparse (larger than 10 MiB)");
      const alone = await python(
        scope,
        "try: x = bytearray(600 * 1024 * 1024); print('had it')\nexcept MemoryError: print('refused')",
      );
      expect(alone.stdout).toBe("refused\n");
    });

    test("programs that have too much memory together lose the one with the most, and stderr says so", async () => {
      const scope = await newScope(h, t);
      const { exitCode, stdout, stderr } = await python(
        scope,
        // All of them stay until one is killed, however long they take to come so far.
        "import os, time\nfor n in range(4):\n  if os.fork() == 0:\n    x = bytearray(b'x') * (120 * 1024 * 1024)\n    time.sleep(50)\n    os._exit(0)\nprint(os.wait()[1])",
        { timeoutSeconds: 60 },
      );
      expect(exitCode).toBe(0);
      expect(stdout).toContain("9\n");
      expect(stderr).toContain("at most 256 MiB of memory together");
    });

    test("processor time ends a command, also where many processes share it", async () => {
      const scope = await newScope(h, t);
      const { exitCode, stderr } = await run(
        scope,
        "echo x > x; for n in 1 2 3; do (while :; do :; done) & done; wait",
        { timeoutSeconds: 60 },
      );
      expect(exitCode).toBe(124);
      expect(stderr).toContain("5 s of processor time");
      expect(await filesOf(scope)).toEqual({});
    });

    test("fork bombs, floods of output and programs that stay end with their command, and leave nothing running", async () => {
      const scope = await newScope(h, t);
      const mark = `mark-${process.pid}-${runtime}`;
      for (const command of [
        ":(){ :|:& };:; sleep 60",
        "yes",
        "cat /dev/zero",
        `while :; do setsid sleep 300.1 & done`,
        `trap '' TERM HUP INT; while :; do sleep 1; done`,
        `python3 -c 'import os, signal; [signal.signal(s, signal.SIG_IGN) for s in range(1, 32) if s not in (9, 19)]; exec("while 1:\\n try: os.fork()\\n except OSError: pass")'`,
      ])
        expect([command, (await run(scope, `: ${mark}; ${command}`, { timeoutSeconds: 2 })).exitCode]).toEqual([
          command,
          124,
        ]);
      // One that stays behind holds up no other.
      const startedAtMs = performance.now();
      const stayed = await run(scope, `: ${mark}; nohup setsid sleep 301 & echo gone; kill -9 1; kill -9 -1`);
      expect(stayed).toMatchObject({ exitCode: 0, stdout: "gone\n" });
      await run(scope, `: ${mark}; (sleep 301; echo late > late) & disown; echo gone`);
      expect(performance.now() - startedAtMs).toBeLessThan(60_000);
      await eventually(() => !processes().some((words) => words.includes(mark)));
      expect(await filesOf(scope)).toEqual({});
      expect((await run(scope, "echo well")).stdout).toBe("well\n");
    });

    test("another tenant's files are in no place, also where its folder is kept", async () => {
      const other = await h.tenant();
      const theirs = await newScope(h, other);
      await upload(other, theirs, "secret", "their secret");
      expect((await callTool(theirs, "bash", { command: "cat secret; echo more > /tmp/secret-more" })).stdout).toBe(
        "their secret",
      );
      const mine = await newScope(h, t);
      const found = await run(
        mine,
        "find / -name 'secret*' -not -path '/usr/*' 2>/dev/null; grep -l secret /proc/*/mountinfo; ls /mnt /proc/*/root/mnt 2>/dev/null; cat ../workspace/secret",
      );
      expect(found.stdout).toBe("");
      const [theirId, myId] = await Promise.all([
        callTool(theirs, "bash", {
          command:
            "cut -c 11-22 /proc/self/mountinfo >/dev/null; stat -c %i /workspace; grep workspace /proc/self/mountinfo | grep -o 'uid=[0-9]*'",
        }),
        callTool(mine, "bash", {
          command: "stat -c %i /workspace; grep workspace /proc/self/mountinfo | grep -o 'uid=[0-9]*'",
        }),
      ]);
      if (process.getuid?.() === 0) expect(theirId.stdout).not.toBe(myId.stdout);
    });

    test("programs are no user of the host that anything else has", async () => {
      const scope = await newScope(h, t);
      const mark = `3${process.pid % 10_000}.${runtime.length}`;
      const stop = new AbortController();
      const running = failure(callTool(scope, "bash", { command: `sleep ${mark}` }, stop.signal));
      const users = await eventually(() => usersOf(`sleep\0${mark}`));
      stop.abort(new Error("seen"));
      if (process.getuid?.() === 0) for (const user of users) expect(user).toBeGreaterThanOrEqual(50_000);
      expect(await running).toBe("seen");
    });
  });
}

/** The command lines of all processes of the host. */
function processes(): string[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, "latin1")] : [];
    } catch {
      return [];
    }
  });
}

/** The users of the processes with these words; null where there are none. */
function usersOf(words: string): number[] | null {
  const users = readdirSync("/proc").flatMap((name) => {
    try {
      if (!/^\d+$/.test(name) || !readFileSync(`/proc/${name}/cmdline`, "latin1").startsWith(words)) return [];
      const ids = /^Uid:\s+(\d+)\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "latin1"));
      return [Number(ids?.[1]), Number(ids?.[2])];
    } catch {
      return [];
    }
  });
  return users.length === 0 ? null : users;
}
