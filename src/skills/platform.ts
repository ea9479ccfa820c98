import type { AnySql, Tx } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";

/** A skill that the operator published, as its commands show it. */
export interface PlatformSkill {
  readonly skillId: IdOf<"skill">;
  readonly name: string;
  readonly description: string;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Returns the platform's skills by name. */
export async function listPlatformSkills(sql: AnySql): Promise<PlatformSkill[]> {
  const rows = await sql<(Omit<PlatformSkill, "createdAt" | "updatedAt"> & { createdAt: Date; updatedAt: Date })[]>`
    select id as skill_id, name, description, version, created_at, updated_at from library_skills
    where tenant_id is null order by name`;
  return rows.map(({ createdAt, updatedAt, ...row }) => {
    return { ...row, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  });
}

/**
 * Deletes a platform skill; its versions are removed by the job `skill.purge`. Agents that
 * name it go on without it. Returns its name, or null when there is none of this id.
 */
export async function withdrawSkill(inner: Tx, id: string): Promise<string | null> {
  const [row] = await inner<{ name: string }[]>`
    delete from library_skills where id = ${id} and tenant_id is null returning name`;
  if (row === undefined) return null;
  // It is no tenant's, and so takes no tenant's slot.
  await addJob(inner, "skill.purge", { skillId: id, tenantId: "" });
  return row.name;
}
