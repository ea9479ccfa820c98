import { readConfig } from "../config.ts";
import { createLogger } from "../log.ts";
import { readSkillCommand, skillUsage } from "../skills/cli.ts";
import { readCommand, UsageError, usage } from "../tenants/cli.ts";
import { onDatabase } from "./operator-database.ts";
import { OperatorError } from "./operator-error.ts";

const helpWords = ["help", "--help", "-h"];

/** The operator's command line: runs one command and prints its answer. Throws `OperatorError` for what the operator can put right. */
export async function tenant(words: readonly string[]): Promise<void> {
  if (helpWords.includes(words[0] ?? "")) {
    await print(usage + skillUsage);
    return;
  }
  try {
    const command = words[0] === "skill" ? readSkillCommand(words.slice(1)) : readCommand(words);
    const config = readConfig(undefined, { logLevel: "warn" });
    // Standard output is for the answer, whose last line may be read by a program.
    await print(await onDatabase(config, createLogger(config.logLevel, process.stderr), command));
  } catch (error) {
    throw error instanceof UsageError ? new OperatorError(error.message) : error;
  }
}

/** Resolves when the text is out, so that the process may end. */
function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}
