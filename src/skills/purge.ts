import type { AgentPurgeScope } from "../agents/purge.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import { paced } from "../kernel/database/pace.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { addJob, addJobSql } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";

/** Removes the skills of a deleted agent, one at a time, so that no statement runs long. */
export async function purgeSkills({ sql, pace }: AgentPurgeScope, agentId: string): Promise<void> {
  const skills = await sql<{ id: string }[]>`select id from agent_skills where agent_id = ${agentId}`;
  for (const { id } of skills) {
    pace.step();
    await sql`delete from skill_files where skill_id = ${id}`;
    await sql`delete from agent_skills where id = ${id}`;
  }
}

/** The job `skill.purge`: removes the versions of a deleted library skill, one at a time. Does nothing while the skill exists. */
export async function purgeLibrarySkill({ sql }: Pick<Ctx, "sql">, payload: JobPayloads["skill.purge"]): Promise<void> {
  const { skillId } = payload;
  const [skill] = await sql`select 1 from library_skills where id = ${skillId}`;
  if (skill !== undefined) return;
  await paced(
    async (pace) => {
      await eraseResponses(sql, [skillId], pace);
      const versions = await sql<{ version: number }[]>`
        select version from library_skill_versions where skill_id = ${skillId}`;
      for (const { version } of versions) {
        pace.step();
        await sql`delete from skill_files where skill_id = ${skillId} and version = ${version}`;
        await sql`delete from library_skill_versions where skill_id = ${skillId} and version = ${version}`;
      }
    },
    () => addJob(sql, "skill.purge", payload, { keySuffix: ":on" }),
  );
}

/** Removes the library skills of a deleted tenant, with the jobs that erase their versions. */
export async function purgeLibrarySkills(inner: Tx, tenantId: string): Promise<void> {
  const job = addJobSql(inner, "skill.purge", { skillId: inner`id`, tenantId: inner`tenant_id` });
  await inner`
    with gone as (delete from library_skills where tenant_id = ${tenantId} returning id, tenant_id)
    select (${job}).id from gone`;
}
