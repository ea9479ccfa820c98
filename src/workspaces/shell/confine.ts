import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { openSystemCalls } from "../../kernel/runtime.ts";
import { codeFolders } from "./code-folders.ts";
import { confineBy } from "./landlock.ts";

/**
 * The first program of a command's process on Bun. It confines itself and then becomes the
 * script that its first word names, by starting that in its own place: a process confines
 * only the thread that asks for it, and the runtime has others already.
 *
 * With the word `check` instead it prints whether it could confine itself, and ends.
 */

/** What the runtime reads when it starts: its libraries, the time zone, and what the system tells about this very process. */
const libraries = ["/lib", "/lib64", "/usr/lib"];
const startPaths = [
  "/etc/ld.so.cache",
  "/etc/localtime",
  "/usr/share/zoneinfo",
  "/proc/self",
  "/dev/null",
  "/dev/urandom",
];

const code = codeFolders();
const calls = await openSystemCalls();
const confined =
  calls !== null &&
  confineBy(calls, {
    readable: [...code, ...startPaths],
    // The runtime looks for `node_modules` by its name.
    listable: code.map((folder) => dirname(folder)),
    executable: [realpathSync(process.execPath), ...libraries],
  });
if (process.argv[2] === "check") {
  process.stdout.write(confined ? "confined" : "open");
  process.exit(0);
}
const [script = ""] = process.argv.slice(2);
// The folder that a process starts in has to be one that it may read.
process.chdir(code[0] as string);
process.execve?.(process.execPath, [process.execPath, ...process.execArgv, script], {});
