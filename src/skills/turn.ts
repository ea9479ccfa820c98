import { Type } from "@sinclair/typebox";
import type { AgentConfig } from "../agents/schema.ts";
import { Closed } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";
import { boundText, cutNote } from "../tools/bounded.ts";
import { builtinTool } from "../tools/builtin.ts";
import { ToolError } from "../tools/error.ts";
import type { ToolScope, TurnTool } from "../tools/tool.ts";
import { type ReadVirtual, readTool, textOf } from "../workspaces/read.ts";
import { agentSkillVersion } from "./files.ts";
import { manifestPath } from "./schema.ts";

/** The model gets at most this many characters of a skill's description. */
const toldDescriptionLengthMax = 1_024;

/** What an agent's skills add to a turn. */
export interface TurnSkills {
  /** Each skill's name, description and path, as a system text; empty when there is none. */
  readonly instructions: string;
  /** `activate_skill`, and without the workspace group a `read` for skill files alone. */
  readonly tools: readonly TurnTool[];
  /** The text of a skill's file at its virtual path, or null when there is none. */
  readonly readVirtual: ReadVirtual;
}

/** What skills add to the turn of an agent without any. */
export const noSkills: TurnSkills = { instructions: "", tools: [], readVirtual: async () => null };

interface ReachableSkill {
  readonly id: IdOf<"skill">;
  readonly name: string;
  readonly description: string;
}

/**
 * Returns the skills of a turn (docs/decisions/skills.md): the agent's own, then the library's that this version of its
 * configuration names. Files are read when the model asks for them.
 */
export async function skillsForTurn(
  scope: ToolScope,
  config: Pick<AgentConfig, "tools" | "skills">,
): Promise<TurnSkills> {
  const skills = await reachableSkills(scope, config.skills);
  if (skills.length === 0) return noSkills;
  const readVirtual: ReadVirtual = (path) => readVirtualSkillFile(scope, config.skills, path);
  const tools = [activateSkill(scope, skills, readVirtual)];
  // The tool group decides, not the workspace: without the group an agent must not use its workspace.
  if (!config.tools.includes("workspace")) tools.push(readTool({ ...scope, workspaceId: null }, readVirtual));
  return { instructions: instructionsOf(scope, skills), tools, readVirtual };
}

function reachableSkills({ ctx, tenantId, agentId }: ToolScope, libraryIds: readonly string[]) {
  return ctx.sql<ReachableSkill[]>`
    select id, name, description from (
      select id, name, description, 0 as place from agent_skills where agent_id = ${agentId} and tenant_id = ${tenantId}
      union all
      select s.id, s.name, s.description, named.place from library_skills s
      join unnest(${libraryIds as string[]}::text[]) with ordinality as named (id, place) on named.id = s.id
      where s.tenant_id = ${tenantId} or s.tenant_id is null
    ) reachable
    order by place, name collate "C", id`;
}

function instructionsOf({ agentId }: ToolScope, skills: readonly ReachableSkill[]): string {
  const entries = skills.map(({ id, name, description }) => {
    const told = oneLine(description).slice(0, toldDescriptionLengthMax);
    return `- ${oneLine(name)}: ${told.toWellFormed()} (${virtualPath(agentId, id)})`;
  });
  return [
    "You have skills. Before you do what a skill is for, call activate_skill with its name and follow what it says.",
    "Read the further files of a skill with the tool read, in the folder of its path.",
    ...entries,
  ].join("\n");
}

function activateSkill({ agentId }: ToolScope, skills: readonly ReachableSkill[], readVirtual: ReadVirtual): TurnTool {
  return builtinTool({
    name: "activate_skill",
    description: "Get the instructions of a skill.",
    input: Closed({ name: Type.String({ minLength: 1, description: "The skill's name." }) }),
    readOnly: true,
    execute: async ({ name }) => {
      const skill = skills.find((known) => known.name === name) ?? skills.find((known) => oneLine(known.name) === name);
      const whole = skill === undefined ? null : await readVirtual(virtualPath(agentId, skill.id));
      if (whole === null) throw new ToolError(`There is no skill ${JSON.stringify(name)}.`);
      const { text, cut } = boundText(whole);
      return cut ? `${text}\n\n${cutNote("only the beginning is shown")}` : text;
    },
  });
}

/** Returns the path of a skill's SKILL.md for the tool `read` (docs/decisions/skills.md). */
function virtualPath(agentId: string, skillId: string): string {
  return `/.parley/${agentId}/skills/${skillId}/${manifestPath}`;
}

async function readVirtualSkillFile(
  { ctx, tenantId, agentId }: ToolScope,
  libraryIds: readonly string[],
  path: string,
): Promise<string | null> {
  const [, ofAgent, skillId, file] = /^\/\.parley\/([^/]+)\/skills\/([^/]+)\/(.+)$/s.exec(path) ?? [];
  if (ofAgent !== agentId || skillId === undefined || file === undefined) return null;
  const [row] = await ctx.sql<{ content: Uint8Array }[]>`
    select f.content from skill_files f
    where f.skill_id = ${skillId} and f.path = ${file} and f.version = coalesce(
      (select ${agentSkillVersion}::int from agent_skills s
        where s.id = ${skillId} and s.agent_id = ${agentId} and s.tenant_id = ${tenantId}),
      (select s.version from library_skills s
        where s.id = ${skillId} and s.id = any(${libraryIds as string[]})
          and (s.tenant_id = ${tenantId} or s.tenant_id is null)))`;
  if (row === undefined) return null;
  const text = textOf(row.content);
  if (text === null) throw new ToolError(`${path} is a binary file of ${row.content.byteLength} bytes.`);
  return text;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
