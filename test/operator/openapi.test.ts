import { expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { inRepository } from "../harness/repository.ts";

const run = promisify(execFile);

test("openapi prints the whole document into a pipe whose reader is slow", async () => {
  // The document has some 1 MB and a pipe holds 64 KiB, so a process that does not wait for its output ends before it is read.
  const { stdout } = await run("sh", ["-c", `"$0" src/main.ts openapi | (sleep 1; cat)`, process.execPath], {
    cwd: inRepository("."),
    maxBuffer: 16 * 1024 * 1024,
  });
  expect(JSON.parse(stdout).openapi).toBe("3.1.0");
}, 60_000);
