import { createHash } from "node:crypto";
import type { Static } from "@sinclair/typebox";
import { inOneSlice } from "../kernel/async/slices.ts";
import { readBytes, requirePlain } from "../kernel/bounded-read.ts";
import { ApiError, type ErrorCause, invalid } from "../kernel/errors.ts";
import { readJsonField } from "../kernel/http/json-body.ts";
import { readFileForm } from "../kernel/http/multipart.ts";
import { Closed, Metadata } from "../kernel/http/request-fields.ts";
import { validateBody } from "../kernel/http/validate.ts";
import { unpack } from "./archive.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import {
  type ArchiveType,
  archiveBytesMax,
  type LibraryCreateFields,
  type LibraryUpdateFields,
  manifestPath,
  type SkillFolder,
  skillBytesMax,
  UploadFields,
} from "./schema.ts";

/** An uploaded folder. */
export interface Upload {
  readonly folder: SkillFolder;
  /** Distinguishes the upload from another one, for its Idempotency-Key. */
  readonly meaning: unknown;
}

/** The name of a library skill's archive when the form has none. */
const filenameDefault = "skill.zip";
/** Causes that the library's operations spell as `invalid_request` (docs/decisions/skills.md). */
const brokenSkill: readonly ErrorCause[] = [
  "skill_invalid_archive",
  "skill_invalid_markdown",
  "skill_too_many_files",
  "skill_uncompressed_too_large",
];
const typeOfEnding: readonly (readonly [ending: string, ArchiveType])[] = [
  [".zip", "zip"],
  // What the skill makers of Claude's apps call their zips.
  [".skill", "zip"],
  [".tar", "tar"],
  [".tar.gz", "tar.gz"],
  [".tgz", "tar.gz"],
];

/** Returns the upload of `POST /v1/agents/:agentId/skills/upload`. Throws 400, 413 as `readFileForm` and `unpack`. */
export async function readSkillUpload(request: Request): Promise<Upload> {
  const { file, fields } = await readFileForm(request, UploadFields, archiveBytesMax);
  return { folder: await unpack(fields.type, file), meaning: [fields.type, digest(file)] };
}

/** An uploaded library skill. */
export interface LibraryUpload extends Upload {
  readonly filename: string;
  readonly userId: string;
  /** Null when the form has none. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly manifest: Manifest;
}

/**
 * Returns the upload of `POST` or `PUT /v1/skills`. Throws 400 (`invalid_request` for a
 * broken archive or frontmatter, and for an archive that unpacks to too much), and 413
 * `payload_too_large` for an archive that is too large as sent.
 */
export async function readLibraryUpload(
  request: Request,
  schema: typeof LibraryCreateFields | typeof LibraryUpdateFields,
): Promise<LibraryUpload> {
  const { file, fields } = await readFileForm(request, schema, archiveBytesMax);
  const { filename = filenameDefault, userId = "" }: Static<typeof LibraryCreateFields> = fields;
  const type = typeOfEnding.find(([ending]) => filename.toLowerCase().endsWith(ending))?.[1];
  if (type === undefined) throw invalid("/filename", "must end with .zip, .skill, .tar, .tar.gz or .tgz");
  const metadata = fields.metadata === undefined ? null : await readMetadata(fields.metadata);
  const meaning = [filename, userId, metadata, digest(file)];
  try {
    const folder = await unpack(type, file);
    return {
      folder,
      filename,
      userId,
      metadata,
      meaning,
      manifest: await inOneSlice(() => readManifest(folder.get(manifestPath))),
    };
  } catch (error) {
    const isBroken = error instanceof ApiError && brokenSkill.includes(error.reason);
    throw isBroken ? new ApiError("invalid_request", { message: error.message }) : error;
  }
}

async function readMetadata(text: string): Promise<Readonly<Record<string, unknown>>> {
  return validateBody(Closed({ metadata: Metadata }), { metadata: await readJsonField(text, "/metadata") }).metadata;
}

/** Returns the raw body of a file write. Throws 400 for another media type, 413 `skill_uncompressed_too_large`. */
export async function readFileBody(request: Request): Promise<Uint8Array> {
  requirePlain(request);
  const mediaType = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (mediaType !== undefined && mediaType !== "application/octet-stream")
    throw new ApiError("validation_failed", {
      message: "The body must be the file's bytes, sent with Content-Type: application/octet-stream.",
    });
  try {
    return await readBytes(request, skillBytesMax);
  } catch (error) {
    const isTooLarge = error instanceof ApiError && error.reason === "payload_too_large";
    throw isTooLarge ? new ApiError("skill_uncompressed_too_large") : error;
  }
}

function digest(file: Uint8Array): string {
  return createHash("sha256").update(file).digest("hex");
}
