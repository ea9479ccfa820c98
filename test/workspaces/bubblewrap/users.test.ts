import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { findMissing } from "../../../src/workspaces/bubblewrap/missing.ts";
import { startProcess } from "../../harness/process.ts";
import { inRepository } from "../../harness/repository.ts";
import { inProcess } from "../../harness/runtimes.ts";

setDefaultTimeout(120_000);

const isRoot = process.getuid?.() === 0;
const missing = await findMissing();

/** Runs a command with the runtime of this host, in a process that these words start. */
async function runAs(words: readonly string[], command: string): Promise<{ stdout: string; exitCode: number }> {
  const [program, ...rest] = [
    ...words,
    process.execPath,
    inRepository("test/workspaces/bubblewrap/as-user.ts"),
    command,
  ];
  const child = startProcess(program as string, rest, { HOME: "/tmp" });
  const status = await child.ended();
  if (status !== 0) throw new Error(`It ended with ${status}: ${child.stderr()}`);
  return JSON.parse(child.stdout());
}

describe.skipIf(!isRoot || missing !== null || !inProcess)("the users of programs", () => {
  test("an ordinary user runs programs, in namespaces of its own", async () => {
    const words = ["setpriv", "--reuid", "64321", "--regid", "64321", "--clear-groups"];
    const { stdout, exitCode } = await runAs(words, "echo x > x; id -u; grep CapEff /proc/self/status; ls");
    expect([exitCode, stdout]).toEqual([0, "1000\nCapEff:\t0000000000000000\nx\n"]);
  });

  test("one that may have no namespaces is told so in one line", async () => {
    const words = [
      "unshare",
      "--user",
      "--map-root-user",
      "sh",
      "-c",
      'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
      "sh",
    ];
    expect(await runAs(words, "true").catch((error: Error) => error.message)).toMatch(
      /The kernel lets users have no namespaces of their own \(user\.max_user_namespaces is 0\)\./,
    );
  });
});
