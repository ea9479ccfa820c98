import type { Ctx } from "../kernel/context.ts";
import type { Sql } from "../kernel/database/client.ts";

/** Removes the skills of a deleted agent, one at a time, so that no statement runs long. */
export async function purgeSkills(sql: Sql, agentId: string): Promise<void> {
  const skills = await sql<{ id: string }[]>`select id from agent_skills where agent_id = ${agentId}`;
  for (const { id } of skills) {
    await sql`delete from skill_files where skill_id = ${id}`;
    await sql`delete from agent_skills where id = ${id}`;
  }
}

/** The job `skill.purge`: removes the versions of a deleted library skill, one at a time. Does nothing while the skill exists. */
export async function purgeLibrarySkill({ sql }: Pick<Ctx, "sql">, skillId: string): Promise<void> {
  const [skill] = await sql`select 1 from library_skills where id = ${skillId}`;
  if (skill !== undefined) return;
  const versions = await sql<{ version: number }[]>`
    select version from library_skill_versions where skill_id = ${skillId}`;
  for (const { version } of versions) {
    await sql`delete from skill_files where skill_id = ${skillId} and version = ${version}`;
    await sql`delete from library_skill_versions where skill_id = ${skillId} and version = ${version}`;
  }
}
