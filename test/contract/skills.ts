import { type Contract, cap, file, metadata, pageLimit, userId } from "./contract.ts";

const mib = 1024 * 1024;
const agent = { agentId: ["ag", "404 not_found"] } as const;
const skill = { ...agent, skillId: ["skill", "404 skill_not_found | 404 not_found"] } as const;
const markdown = "400 skill_invalid_markdown | 400 invalid_request";
const tooMany = "400 skill_too_many_files | 400 invalid_request";
const full = "400 skill_limit_reached | 400 invalid_request";
const taken = "409 skill_name_conflict | 400 invalid_request";
const tooLarge = "413 skill_uncompressed_too_large | 413 invalid_request";
const archive = "400 skill_invalid_archive | 400 invalid_request";

/** Skills of an agent, and the library: docs/decisions/skills.md. */
export const skills: readonly Contract[] = [
  {
    op: "GET /v1/agents/:agentId/skills",
    success: [200],
    shape: "SkillPage",
    ids: agent,
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(100)],
  },
  {
    op: "POST /v1/agents/:agentId/skills",
    stores: true,
    success: [201],
    shape: "SkillDetail",
    ids: agent,
    body: "json",
    required: ["path", "content"],
    key: "response",
    errors: [markdown, full, taken],
    limits: [
      cap("skills per agent", 100, full),
      cap("characters of a skill's name", 200, markdown),
      cap("characters of a skill's description", 4_096, markdown),
    ],
  },
  {
    op: "POST /v1/agents/:agentId/skills/upload",
    stores: true,
    success: [201],
    shape: "SkillDetail",
    ids: agent,
    body: "multipart",
    required: ["type", "file"],
    key: "response",
    errors: [markdown, archive, tooMany, full, taken, tooLarge, "413 payload_too_large"],
    limits: [
      file("archive", 10 * mib, "413 payload_too_large"),
      file("unpacked", 10 * mib, tooLarge),
      file("files of an archive", 100, tooMany),
      cap("skills per agent", 100, full),
    ],
  },
  { op: "GET /v1/agents/:agentId/skills/:skillId", success: [200], shape: "SkillDetail", ids: skill, errors: [] },
  { op: "DELETE /v1/agents/:agentId/skills/:skillId", success: [204], shape: null, ids: skill, errors: [] },
  {
    op: "GET /v1/agents/:agentId/skills/:skillId/files",
    success: [200],
    shape: "bytes",
    ids: skill,
    errors: ["404 not_found"],
  },
  {
    op: "PUT /v1/agents/:agentId/skills/:skillId/files",
    stores: true,
    success: [200],
    shape: "SkillDetail",
    ids: skill,
    body: "bytes",
    errors: [markdown, tooMany, taken, tooLarge],
    limits: [
      file("files of a skill", 100, tooMany),
      file("all files of a skill", 10 * mib, tooLarge),
      cap("bytes of a path", 1_024, "400 validation_failed | 400 invalid_request"),
    ],
  },
  {
    op: "DELETE /v1/agents/:agentId/skills/:skillId/files",
    success: [200],
    shape: "SkillDetail",
    ids: skill,
    errors: [],
  },
  {
    op: "POST /v1/agents/:agentId/skills/:skillId/copies",
    stores: true,
    success: [200],
    shape: "SkillCopies",
    ids: skill,
    body: "json",
    required: ["agentIds"],
    key: "response",
    errors: [],
    limits: [{ field: "/agentIds", unit: "items", min: 1, max: 30 }],
  },
];

const entry = { skillId: ["skill", "404 not_found"] } as const;
const sent = file("archive", 10 * mib, "413 payload_too_large");
const readOnly = "403 invalid_request";

/** The library. */
export const library: readonly Contract[] = [
  {
    op: "POST /v1/skills",
    stores: true,
    success: [201],
    shape: "LibrarySkillDetail",
    body: "multipart",
    required: ["file"],
    key: "response",
    errors: ["400 invalid_request", "413 payload_too_large"],
    limits: [
      sent,
      file("unpacked", 10 * mib, "400 invalid_request"),
      file("files of an archive", 100, "400 invalid_request"),
      metadata,
      userId,
      cap("skills per library", 200, "400 invalid_request"),
    ],
  },
  { op: "GET /v1/skills", success: [200], shape: "LibrarySkillList", errors: [] },
  { op: "GET /v1/skills/:skillId", success: [200], shape: "LibrarySkillDetail", ids: entry, errors: [] },
  {
    op: "PUT /v1/skills/:skillId",
    stores: true,
    success: [200],
    shape: "LibrarySkillDetail",
    ids: entry,
    body: "multipart",
    required: ["file"],
    errors: ["400 invalid_request", readOnly, "413 payload_too_large"],
    limits: [sent, metadata],
  },
  { op: "DELETE /v1/skills/:skillId", success: [204], shape: null, ids: entry, errors: [readOnly] },
];
