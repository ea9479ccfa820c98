import { readConfig } from "../kernel/config.ts";
import { createLogger } from "../kernel/telemetry/log.ts";
import { asksForHelp } from "../roles/help.ts";
import { OperatorError } from "../roles/operator-error.ts";
import { type Command, UsageError } from "./command.ts";
import { onDatabase } from "./database.ts";
import { print } from "./print.ts";
import { queueUsage, readQueueCommand } from "./queue.ts";
import { readResealCommand, resealUsage } from "./reseal.ts";
import { readSkillCommand, skillUsage } from "./skill.ts";
import { readTenantCommand, tenantUsage } from "./tenant.ts";

/** What each command's line takes. Every word that is none of these is a tenant's. */
const usages: Readonly<Record<string, string>> = { skill: skillUsage, queue: queueUsage, reseal: resealUsage };

/** Runs one of the operator's commands and prints its result. Throws `OperatorError` for a fault that the operator can correct. */
export async function runCommand(words: readonly string[]): Promise<void> {
  const [subject = ""] = words;
  const isNamed = Object.hasOwn(usages, subject);
  if (asksForHelp(isNamed ? words.slice(1) : words)) {
    await print(usages[isNamed ? subject : ""] ?? tenantUsage);
    return;
  }
  try {
    const command = readWords(words);
    const config = readConfig(undefined, { logLevel: "warn" });
    // Standard output is for the result, which a program may read, so logs go elsewhere.
    await print(await onDatabase(config, createLogger(config.logLevel, process.stderr), (sql) => command(sql, config)));
  } catch (error) {
    throw error instanceof UsageError ? new OperatorError(error.message) : error;
  }
}

/** Returns the command that the words name. Skills, the queue and sealing have separate commands; every other word is a tenant's command. */
function readWords([subject, ...rest]: readonly string[]): Command {
  if (subject === "skill") return readSkillCommand(rest);
  if (subject === "reseal") return readResealCommand(rest);
  if (subject === "queue") return readQueueCommand(rest);
  return readTenantCommand(subject === undefined ? rest : [subject, ...rest]);
}
