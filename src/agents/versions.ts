import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { type Page, readCursor, writeCursor } from "../kernel/http/page.ts";
import type { AgentConfig } from "./schema.ts";
import { showConfig } from "./show.ts";
import { firstDraft } from "./store.ts";

/** Version numbers fit in four signed bytes. */
const versionMax = 2_147_483_647;

interface VersionRow {
  tenantId: string;
  version: number | null;
  config: AgentConfig;
  changeNote: string | null;
  createdAt: Date;
}

/** Reads a version number from a path. Throws 400. */
export function readVersion(text: string): number {
  const version = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  if (version < 1 || version > versionMax) throw invalid("version", `must be a whole number from 1 to ${versionMax}`);
  return version;
}

/** A page of an agent's versions, newest first, without drafts. Throws 404, 400 `invalid_cursor`. */
export async function listVersions(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  cursor: string | undefined,
  limit: number,
): Promise<Page<ReturnType<typeof showVersion>>> {
  const list = `versions:${agentId}`;
  const before = cursor === undefined ? firstDraft : readCursor(list, cursor, 1)[0];
  if (typeof before !== "number" || before < 1 || before > firstDraft) throw new ApiError("invalid_cursor");
  // The outer join distinguishes an agent whose page is empty from one that does not exist.
  const rows = await sql<VersionRow[]>`
    select a.tenant_id, v.version, v.config, v.change_note, v.created_at
    from agents a left join lateral (
      select version, config, change_note, created_at from agent_versions
      where agent_id = a.id and version < ${before} order by version desc limit ${limit + 1}
    ) v on true
    where a.id = ${agentId} and a.tenant_id = ${tenantId} order by v.version desc`;
  if (rows.length === 0) throw new ApiError("not_found");
  const shown = rows.slice(0, limit).flatMap((row) => (row.version === null ? [] : [showVersion(agentId, row)]));
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? writeCursor(list, [last.version]) : null;
  return { data: shown, nextCursor };
}

/** Reads one version, or a draft. Throws 404 `not_found` for the agent, and for the version (A: `AGENT_VERSION_NOT_FOUND`). */
export async function getVersion(sql: AnySql, tenantId: string, agentId: string, version: number) {
  const [row] = await sql<VersionRow[]>`
    select a.tenant_id, v.version, v.config, v.change_note, v.created_at
    from agents a left join agent_versions v on v.agent_id = a.id and v.version = ${version}
    where a.id = ${agentId} and a.tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("not_found");
  if (row.version === null) throw new ApiError("version_missing");
  return showVersion(agentId, row);
}

function showVersion(agentId: string, { tenantId, version, config, changeNote, createdAt }: VersionRow) {
  return {
    agentId,
    tenantId,
    version: version as number,
    ...showConfig(config),
    ...(changeNote !== null && { changeNote }),
    createdAt: createdAt.toISOString(),
  };
}
