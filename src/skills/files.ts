import type { AnySql, Tx } from "../kernel/database/client.ts";
import type { SkillFile, SkillFolder } from "./schema.ts";

/** The one version that an agent's skill has. */
export const agentSkillVersion = 1;

/** Writes all files of a new skill or version. */
export async function insertSkillFiles(
  inner: Tx,
  skillId: string,
  version: number,
  folder: SkillFolder,
): Promise<void> {
  const rows = [...folder].map(([path, content]) => ({ skill_id: skillId, version, path, content }));
  await inner`insert into skill_files ${inner(rows, "skill_id", "version", "path", "content")}`;
}

/** Returns the files of a version by path, without their contents. */
export function listSkillFiles(sql: AnySql, skillId: string, version: number): Promise<SkillFile[]> {
  return sql<SkillFile[]>`
    select path, octet_length(content) as size_bytes from skill_files
    where skill_id = ${skillId} and version = ${version} order by path`;
}
