import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import type { PageSize } from "../kernel/http/page.ts";
import { Characters, Closed, FileBytes, OneOf, pageQueryOf, UserId } from "../kernel/http/request-fields.ts";
import { Id, type IdOf } from "../kernel/ids.ts";

/** The file at a skill's root that describes the skill. */
export const manifestPath = "SKILL.md";

/** Skills one agent may have. */
export const skillsPerAgentMax = 100;
/** Library skills one tenant may have, so that their list stays bounded. */
export const librarySkillsPerTenantMax = 200;
/** This many versions of a library skill are kept, the newest; agents use the newest one only. */
export const skillVersionsKept = 100;
/** A skill holds at most this many files. */
export const filesPerSkillMax = 100;
/** The size limit of all files of a skill together. */
export const skillBytesMax = 10 * 1024 * 1024;
/** The size limit of an archive as sent. */
export const archiveBytesMax = 10 * 1024 * 1024;
/** The length limit of a file's path, which an index of Postgres still takes. */
export const skillPathBytesMax = 1024;
/** Agents one request may copy a skill to. */
const copiesPerRequestMax = 30;
/** Pages of an agent's skills. */
export const skillPage: PageSize = { max: 100, default: 50 };

const archiveTypes = ["zip", "tar", "tar.gz"] as const;
export type ArchiveType = (typeof archiveTypes)[number];

export const SkillList = Closed(pageQueryOf(skillPage));

export const SkillCreate = Component("SkillCreate", {
  path: Type.Literal(manifestPath),
  content: example(
    Type.String(),
    "---\nname: refunds\ndescription: How refunds are decided and booked.\n---\n\nAsk for the order's number first.\n",
  ),
});

export const SkillFileQuery = Closed({ path: Type.String() });

export const SkillCopies = Component("SkillCopyCreate", {
  agentIds: Type.Array(Id("agent"), { minItems: 1, maxItems: copiesPerRequestMax, uniqueItems: true }),
});

/** The text parts of `POST /v1/agents/:agentId/skills/upload`. */
export const UploadFields = Closed({ type: OneOf(...archiveTypes) });

/** The text parts of `POST /v1/skills`. */
export const LibraryCreateFields = Closed({
  filename: Type.Optional(Characters({ min: 1, max: 255 })),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Type.String()),
});

/** The text parts of `PUT /v1/skills/:skillId`. */
export const LibraryUpdateFields = Closed({
  filename: LibraryCreateFields.properties.filename,
  metadata: LibraryCreateFields.properties.metadata,
});

/** The same forms with their file, for the OpenAPI document. */
export const SkillUpload = Component("SkillUpload", { file: FileBytes, ...UploadFields.properties });
export const LibrarySkillCreate = Component("LibrarySkillCreate", {
  file: FileBytes,
  ...LibraryCreateFields.properties,
});
export const LibrarySkillUpdate = Component("LibrarySkillUpdate", {
  file: FileBytes,
  ...LibraryUpdateFields.properties,
});

const libraryFilters = ["all", "built-in", "my"] as const;
export type LibraryFilter = (typeof libraryFilters)[number];

export const LibraryQuery = Closed({
  filter: Type.Optional(OneOf(...libraryFilters)),
  userId: Type.Optional(UserId),
});

/** A file in the list of a skill's files. */
export interface SkillFile {
  readonly path: string;
  readonly sizeBytes: number;
}

/** A skill's files: contents by path. */
export type SkillFolder = ReadonlyMap<string, Uint8Array>;

/** An agent's skill in a list. */
export interface Skill {
  readonly id: IdOf<"skill">;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly name: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SkillDetail extends Skill {
  readonly files: readonly SkillFile[];
}

/** A library skill in a list. */
export interface LibrarySkill {
  readonly id: IdOf<"skill">;
  readonly ownerKind: "platform" | "tenant";
  readonly tenantId: string | null;
  readonly name: string;
  readonly description: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface LibrarySkillDetail extends LibrarySkill {
  /** The frontmatter of SKILL.md. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly files: readonly SkillFile[];
}
