import { hasSkill } from "../agents/has-skill.ts";
import { policyIssues } from "../agents/policy.ts";
import type { AgentConfig } from "../agents/schema.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { insertSkillFiles } from "./files.ts";
import type { Manifest } from "./manifest.ts";
import {
  type LibraryFilter,
  type LibrarySkill,
  type LibrarySkillDetail,
  librarySkillsPerTenantMax,
  type SkillFile,
  type SkillFolder,
  skillVersionsKept,
} from "./schema.ts";

interface LibraryRow {
  id: IdOf<"skill">;
  tenantId: string | null;
  name: string;
  description: string;
  userId: string;
  metadata: Record<string, unknown>;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** One version of a library skill, to be stored. */
export interface LibraryContent {
  readonly filename: string;
  readonly manifest: Manifest;
  readonly folder: SkillFolder;
}

/** Returns the tenant's skills and the platform's, most recently updated first; `filter` and `userId` narrow them. */
export async function listLibrary(
  sql: AnySql,
  tenantId: string,
  filter: LibraryFilter,
  userId: string | undefined,
): Promise<LibrarySkill[]> {
  const owners = {
    all: sql`(tenant_id = ${tenantId} or tenant_id is null)`,
    "built-in": sql`tenant_id is null`,
    my: sql`tenant_id = ${tenantId}`,
  };
  const rows = await sql<LibraryRow[]>`
    select * from library_skills where ${owners[filter]} ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
    order by updated_at desc, id desc`;
  return rows.map(showLibrarySkill);
}

/** Returns a skill of the tenant or the platform with its frontmatter and files, all of one version. Throws 404. */
export async function getLibrarySkill(sql: AnySql, tenantId: string, id: string): Promise<LibrarySkillDetail> {
  const [row] = await sql<(LibraryRow & { meta: Record<string, unknown> | null; files: SkillFile[] | null })[]>`
    select s.*, v.meta, (
      select json_agg(json_build_object('path', f.path, 'sizeBytes', octet_length(f.content)) order by f.path)
      from skill_files f where f.skill_id = s.id and f.version = s.version
    ) as files
    from library_skills s left join library_skill_versions v on v.skill_id = s.id and v.version = s.version
    where s.id = ${id} and (s.tenant_id = ${tenantId} or s.tenant_id is null)`;
  if (row === undefined) throw new ApiError("not_found");
  return { ...showLibrarySkill(row), meta: row.meta ?? {}, files: row.files ?? [] };
}

/** Adds a skill to the tenant's library and returns it. Throws 400 `invalid_request` at the cap. */
export function createLibrarySkill(
  sql: AnySql,
  tenantId: string,
  content: LibraryContent,
  attribution: { userId: string; metadata: Readonly<Record<string, unknown>> },
): Promise<LibrarySkillDetail> {
  return tx(sql, async (inner) => {
    // The lock on the tenant's row keeps concurrent creations from exceeding the limit.
    await inner`select 1 from tenants where id = ${tenantId} for no key update`;
    const [count] = await inner<{ skills: number }[]>`
      select count(*)::int as skills from library_skills where tenant_id = ${tenantId}`;
    if ((count?.skills ?? 0) >= librarySkillsPerTenantMax)
      throw new ApiError("invalid_request", {
        message: `A tenant has at most ${librarySkillsPerTenantMax} skills; delete one first.`,
      });
    const id = await insertLibrarySkill(inner, tenantId, content, attribution);
    return getLibrarySkill(inner, tenantId, id);
  });
}

/** Writes a new skill of a tenant, or with null of the platform, and returns its id. */
export async function insertLibrarySkill(
  inner: Tx,
  tenantId: string | null,
  content: LibraryContent,
  { userId, metadata }: { userId: string; metadata: Readonly<Record<string, unknown>> },
): Promise<IdOf<"skill">> {
  const id = newId("skill");
  const { name, description } = content.manifest;
  await inner`
    insert into library_skills (id, tenant_id, name, description, user_id, metadata, created_at, updated_at)
    select ${id}, ${tenantId}, ${name}, ${description}, ${userId}, ${json(inner, metadata)}, moment, moment
    from clock_timestamp() as moment`;
  await insertVersion(inner, id, 1, content);
  return id;
}

/**
 * Stores a new version of a tenant's skill, makes it the one in use, and returns the
 * skill; null keeps the metadata. Throws 403 `platform_skill_read_only`, 404.
 */
export function updateLibrarySkill(
  sql: AnySql,
  tenantId: string,
  id: string,
  content: LibraryContent,
  metadata: Readonly<Record<string, unknown>> | null,
): Promise<LibrarySkillDetail> {
  return tx(sql, async (inner) => {
    const { version } = await lockTenants(inner, tenantId, id);
    await replaceContent(inner, id, version + 1, content);
    if (metadata !== null) await inner`update library_skills set metadata = ${json(inner, metadata)} where id = ${id}`;
    return getLibrarySkill(inner, tenantId, id);
  });
}

/** Stores a version, makes it the one in use, and drops what is older than the newest `skillVersionsKept`. The caller holds the skill's lock. */
export async function replaceContent(inner: Tx, id: string, version: number, content: LibraryContent): Promise<void> {
  const { name, description } = content.manifest;
  await insertVersion(inner, id, version, content);
  await inner`
    update library_skills set version = ${version}, name = ${name}, description = ${description},
      updated_at = clock_timestamp()
    where id = ${id}`;
  const oldest = version - skillVersionsKept;
  await inner`delete from skill_files where skill_id = ${id} and version <= ${oldest}`;
  await inner`delete from library_skill_versions where skill_id = ${id} and version <= ${oldest}`;
}

async function insertVersion(inner: Tx, id: string, version: number, content: LibraryContent): Promise<void> {
  const { filename, manifest, folder } = content;
  await inner`
    insert into library_skill_versions (skill_id, version, filename, meta, created_at)
    values (${id}, ${version}, ${filename}, ${json(inner, manifest.meta)}, clock_timestamp())`;
  await insertSkillFiles(inner, id, version, folder);
}

/**
 * Deletes a tenant's skill; its versions are removed by the job `skill.purge`. Throws 403
 * `platform_skill_read_only`, 404, and 400 when it is an agent's last skill and an
 * approval policy has a rule for a tool that only skills bring.
 */
export function deleteLibrarySkill(sql: AnySql, tenantId: string, id: string): Promise<void> {
  return tx(sql, async (inner) => {
    // Otherwise, of two skills deleted at the same time, each deletion could count on the other skill of the
    // agent.
    await inner`select 1 from tenants where id = ${tenantId} for no key update`;
    await lockTenants(inner, tenantId, id);
    await inner`delete from library_skills where id = ${id}`;
    await checkAgentsWithout(inner, tenantId, id);
    await addJob(inner, "skill.purge", { skillId: id, tenantId });
  });
}

/**
 * Checks that the rules of every agent that names a deleted skill stay valid. The
 * agents need no lock: a change that relies on the skill holds a key lock on it, and
 * has either ended by now or will not find the skill.
 */
async function checkAgentsWithout(inner: Tx, tenantId: string, id: string): Promise<void> {
  const agents = await inner<{ id: string; config: AgentConfig }[]>`
    select id, config from agents
    where tenant_id = ${tenantId} and (config -> 'skills')::jsonb @> to_jsonb(${id}::text) order by id`;
  for (const agent of agents) {
    const [issue] = policyIssues(agent.config, false);
    if (issue === undefined || (await hasSkill(inner, tenantId, agent.id, agent.config.skills))) continue;
    const rule = `the approval policy's rule at ${issue.path} needs`;
    throw invalid("skillId", `is the last skill of the agent ${agent.id}, which ${rule}; remove the rule first`);
  }
}

/** Checks that the tenant may change a skill, before its upload is read. Throws 403 `platform_skill_read_only`, 404. */
export async function checkLibrarySkillChange(sql: AnySql, tenantId: string, id: string): Promise<void> {
  changeable(
    await sql<LibraryRow[]>`
    select * from library_skills where id = ${id} and (tenant_id = ${tenantId} or tenant_id is null)`,
  );
}

/** Checks the same, returns the skill's row, and keeps others from changing it until the transaction ends. */
async function lockTenants(inner: Tx, tenantId: string, id: string): Promise<LibraryRow> {
  return changeable(
    await inner<LibraryRow[]>`
    select * from library_skills where id = ${id} and (tenant_id = ${tenantId} or tenant_id is null) for update`,
  );
}

function changeable([row]: readonly LibraryRow[]): LibraryRow {
  if (row === undefined) throw new ApiError("not_found");
  if (row.tenantId === null) throw new ApiError("platform_skill_read_only");
  return row;
}

function showLibrarySkill(row: LibraryRow): LibrarySkill {
  return {
    id: row.id,
    ownerKind: row.tenantId === null ? "platform" : "tenant",
    tenantId: row.tenantId,
    name: row.name,
    description: row.description,
    userId: row.userId,
    metadata: row.metadata,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
