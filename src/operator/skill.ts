import { tx } from "../kernel/database/transaction.ts";
import { FolderError, publishSkill, readSkillFolder } from "../skills/publish.ts";
import { type Command, chooseVerb, UsageError } from "./command.ts";
import { recordOperator } from "./operator-audit.ts";

/** What the command line takes (docs/decisions.md, "Operator commands"). */
export const skillUsage = "skill publish <folder> [--json]\n";

/** Returns the command that the words name, read before anything is opened. Throws `UsageError`. */
export const readSkillCommand = (words: readonly string[]): Command => chooseVerb({ publish: readPublish }, words);

function readPublish(words: readonly string[]): Command {
  const json = words.includes("--json");
  const [folder, ...further] = words.filter((word) => word !== "--json");
  if (folder === undefined) throw new UsageError("skill publish needs the folder of a skill.");
  const odd = [folder, ...further].find((word, index) => index > 0 || word.startsWith("--"));
  if (odd !== undefined) throw new UsageError(`skill publish does not take ${odd}.`);
  return async (sql) => {
    const content = await read(folder);
    const published = await tx(sql, async (inner) => {
      const made = await publishSkill(inner, content);
      await recordOperator(inner, "skill.publish", made.skillId);
      return made;
    });
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
