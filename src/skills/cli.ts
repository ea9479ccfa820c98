import { type Command, UsageError } from "../tenants/cli.ts";
import { FolderError, publishSkill, readSkillFolder } from "./publish.ts";

/** What the command line takes (`decisions.md`, "Operator's command line"). */
export const skillUsage = "skill publish <folder> [--json]\n";

/** Understands a command before anything is opened. Throws `UsageError`. */
export function readSkillCommand(words: readonly string[]): Command {
  const [verb, ...rest] = words;
  if (verb !== "publish") {
    const said = verb === undefined ? "No command given" : `There is no command ${JSON.stringify(verb)}`;
    throw new UsageError(`${said}; the command is publish.`);
  }
  const json = rest.includes("--json");
  const [folder, ...further] = rest.filter((word) => word !== "--json");
  if (folder === undefined) throw new UsageError("skill publish needs the folder of a skill.");
  const odd = [folder, ...further].find((word, index) => index > 0 || word.startsWith("--"));
  if (odd !== undefined) throw new UsageError(`skill publish does not take ${odd}.`);
  return async (sql) => {
    const published = await publishSkill(sql, await read(folder));
    if (json) return `${JSON.stringify(published)}\n`;
    return `${published.skillId} is published: ${published.name}, version ${published.version}.\n`;
  };
}

async function read(folder: string) {
  try {
    return await readSkillFolder(folder);
  } catch (error) {
    throw error instanceof FolderError ? new UsageError(error.message) : error;
  }
}
