import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { confinedCommand } from "../../src/workspaces/shell/process.ts";

/** What somebody would try who broke out of the interpreter. */
const attempts = `
import { readFileSync, writeFileSync, promises } from "node:fs";
import { spawnSync } from "node:child_process";
import { connect } from "node:net";
const [folder, port] = TARGETS;
const tries = {
  environment: () => readFileSync("/proc/" + process.ppid + "/environ"),
  data: () => readFileSync(folder + "/secret"),
  dataInAThread: () => promises.readFile(folder + "/secret"),
  change: () => writeFileSync(folder + "/new", "x"),
  account: () => readFileSync("/etc/passwd"),
  signal: () => process.kill(process.ppid, 0),
  program: () => { const { error } = spawnSync("/bin/sh", ["-c", "true"]); if (error) throw error; },
  network: () => new Promise((resolve, reject) => connect(port, "127.0.0.1", resolve).on("error", reject)),
  ownCode: () => readFileSync(CODE),
};
const results = {};
for (const [name, attempt] of Object.entries(tries)) {
  results[name] = await Promise.resolve().then(attempt).then(() => "done", (error) => error.code);
}
process.stdout.write(JSON.stringify(results));
process.exit(0);
`;

const { command, args } = confinedCommand("check");
const confines = process.platform === "linux" && (await output(command, args, "")) === "confined";

async function output(program: string, words: readonly string[], input: string): Promise<string> {
  const child = spawn(program, words, {
    env: { SECRET: "of the parent" },
    cwd: "/",
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(input);
  return text(child.stdout);
}

describe.skipIf(!confines)("the process of a command", () => {
  let folder: string;
  let server: Server;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-confined-"));
    await writeFile(join(folder, "secret"), "a key");
    server = createServer().listen(0, "127.0.0.1");
  });
  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  test("reads no environment, data or account, starts, signals, changes and reaches nothing; its own code it reads", async () => {
    const own = new URL("../../src/workspaces/shell/child.ts", import.meta.url).pathname;
    const script = attempts
      .replace("TARGETS", JSON.stringify([folder, (server.address() as AddressInfo).port]))
      .replace("CODE", JSON.stringify(own));
    const confined = confinedCommand("-");
    expect(JSON.parse(await output(confined.command, confined.args, script))).toEqual({
      environment: "EACCES",
      data: "EACCES",
      dataInAThread: "EACCES",
      change: expect.stringMatching(/EACCES|EISDIR/),
      account: "EACCES",
      signal: "EPERM",
      program: "EACCES",
      network: expect.stringMatching(/EACCES|EPERM/),
      ownCode: "done",
    });
  });
});
