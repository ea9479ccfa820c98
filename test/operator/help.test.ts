import { describe, expect, test } from "bun:test";
import { startRole } from "../harness/process.ts";

/** Where nothing could run: a command that did more than tell what it takes would fail. */
const nowhere = { DATABASE_URL: "postgres://127.0.0.1:1/none" };

describe("--help", () => {
  for (const command of [
    "start",
    "serve",
    "work",
    "sandbox",
    "migrate",
    "tenant",
    "skill",
    "queue",
    "reseal",
    "openapi",
  ])
    test.concurrent(`of ${command} tells what this command takes, and starts nothing`, async () => {
      for (const words of [["--help"], ["-h"], ["help"], ["list", "--json", "--help"]]) {
        const child = startRole(command, nowhere, words);
        expect([words, await child.ended(), child.stderr()]).toEqual([words, 0, ""]);
        const lines = child.stdout().trimEnd().split("\n");
        expect(lines.filter((line) => !line.startsWith(command) && !line.startsWith(" "))).toEqual([]);
        expect(lines[0]).toStartWith(command);
      }
    }, 240_000);

  test("without a command names them", async () => {
    const child = startRole("--help", {});
    expect(await child.ended()).toBe(0);
    expect(child.stdout()).toContain("start, serve, work, sandbox, migrate, tenant");
  });
});
