/** Runs a role of the service, named by the first argument. Each is loaded only when it is asked for. */

import { environment, readConfig } from "./kernel/config.ts";
import { startWithSettings } from "./kernel/runtime.ts";
import { createLogger } from "./kernel/telemetry/log.ts";
import { asksForHelp, roleHelp } from "./roles/help.ts";
import { OperatorError } from "./roles/operator-error.ts";
import { fail, runRole } from "./roles/run.ts";

const [role, ...words] = process.argv.slice(2);
/** The roles that call models, and much else. */
const callingRoles = ["start", "serve", "work"];
if (role !== undefined && callingRoles.includes(role)) startWithSettings(environment);

const roles: Readonly<Record<string, () => Promise<unknown>>> = {
  // The text on the screen is the point of this role, so only what goes wrong is logged around it.
  start: async () => runRole((await import("./roles/start.ts")).start, { logLevel: "warn", console: true }),
  serve: async () => runRole((await import("./roles/serve.ts")).serve),
  work: async () => runRole((await import("./roles/work.ts")).work),
  sandbox: async () => runRole((await import("./roles/sandbox.ts")).sandbox),
  migrate: async () => {
    const config = readConfig();
    await (await import("./operator/database.ts")).migrateDatabase(config, createLogger(config.logLevel));
  },
  tenant: async () => (await import("./operator/run-command.ts")).runCommand(words),
  // The operator's command line again, with `skill`, `queue` or `reseal` as its first word.
  skill: async () => (await import("./operator/run-command.ts")).runCommand(["skill", ...words]),
  queue: async () => (await import("./operator/run-command.ts")).runCommand(["queue", ...words]),
  reseal: async () => (await import("./operator/run-command.ts")).runCommand(["reseal", ...words]),
  openapi: async () => (await import("./operator/openapi.ts")).printOpenApi(readConfig()),
};

try {
  const run = role !== undefined && Object.hasOwn(roles, role) ? roles[role] : undefined;
  if (role !== undefined && asksForHelp([role])) {
    process.stdout.write(`Name a role: ${Object.keys(roles).join(", ")}. With --help it tells what it takes.\n`);
    process.exit(0);
  }
  if (run === undefined) throw new OperatorError(`Name a role: ${Object.keys(roles).join(", ")}.`);
  const help = role !== undefined && asksForHelp(words) ? roleHelp[role] : undefined;
  if (help === undefined) await run();
  else process.stdout.write(help);
  process.exit(0);
} catch (error) {
  fail(error);
}
