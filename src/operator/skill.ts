import { recordOperator } from "../installation/operator-audit.ts";
import { tx } from "../kernel/database/transaction.ts";
import { isId } from "../kernel/ids.ts";
import { listPlatformSkills, type PlatformSkill, withdrawSkill } from "../skills/platform.ts";
import { FolderError, publishSkill, readSkillFolder } from "../skills/publish.ts";
import {
  type Command,
  chooseVerb,
  jsonOption,
  list,
  required,
  UsageError,
  type Values,
  withOptions,
} from "./command.ts";
import type { Columns } from "./text-table.ts";

/** What the command line takes (docs/decisions/operator-commands.md). */
export const skillUsage = `skill publish <folder> [--json]
skill list [--json]
skill withdraw --skill skill_…
`;

/** Returns the command that the words name, read before anything is opened. Throws `UsageError`. */
export const readSkillCommand = (words: readonly string[]): Command => chooseVerb(verbs, words);

const verbs = {
  publish: readPublish,
  list: withOptions(jsonOption, readList),
  withdraw: withOptions({ skill: { type: "string" } }, readWithdraw),
};

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

function readList(values: Values): Command {
  return async (sql) => list(values, columns, await listPlatformSkills(sql));
}

function readWithdraw(values: Values): Command {
  const skillId = required(values, "skill");
  if (!isId("skill", skillId)) throw new UsageError("--skill must have the shape skill_….");
  return async (sql) => {
    const name = await tx(sql, async (inner) => {
      const withdrawn = await withdrawSkill(inner, skillId);
      if (withdrawn === null) throw new UsageError(`There is no platform skill ${skillId}.`);
      await recordOperator(inner, "skill.withdraw", skillId);
      return withdrawn;
    });
    return `${skillId} is withdrawn: ${name}.\n`;
  };
}

const columns: Columns<PlatformSkill> = [
  ["SKILL", ({ skillId }) => skillId],
  ["NAME", ({ name }) => name],
  ["VERSION", ({ version }) => String(version)],
  ["PUBLISHED", ({ updatedAt }) => updatedAt],
];

async function read(folder: string) {
  try {
    return await readSkillFolder(folder);
  } catch (error) {
    throw error instanceof FolderError ? new UsageError(error.message) : error;
  }
}
