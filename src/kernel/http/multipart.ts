import type { Static, TObject } from "@sinclair/typebox";
import { readBytes, requirePlain } from "../bounded-read.ts";
import { ApiError, invalid, invalidAll } from "../errors.ts";
import { checkString } from "./json-body.ts";
import { validateBody } from "./validate.ts";

/** The most bytes of the multipart envelope and the text parts around a file. */
const envelopeBytesMax = 128 * 1024;

/** Reads a multipart form of at most `bytesMax`, whatever the request announces. Throws 400 `validation_failed`, 413. */
export async function readForm(request: Request, bytesMax: number): Promise<FormData> {
  requirePlain(request);
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data *;/i.test(contentType)) throw malformed("The body must be multipart/form-data.");
  const bytes = await readBytes(request, bytesMax);
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: { "content-type": contentType },
    }).formData();
  } catch {
    throw malformed("The body is not a valid multipart form.");
  }
}

/**
 * Reads a multipart form of one file, in the part `file`, and the text parts that
 * a schema names. Throws 400 `validation_failed` naming the part, 413
 * `payload_too_large` for a file over `fileBytesMax`.
 */
export async function readFileForm<T extends TObject>(
  request: Request,
  fields: T,
  fileBytesMax: number,
): Promise<{ file: Uint8Array; fields: Static<T> }> {
  const form = await readForm(request, fileBytesMax + envelopeBytesMax);
  const texts: Record<string, string> = Object.create(null);
  let blob: Blob | null = null;
  const seen = new Set<string>();
  for (const [name, part] of form.entries()) {
    if (seen.has(name)) throw invalid(`/${name}`, "must not be given twice");
    seen.add(name);
    if (name === "file") blob = fileOf(part);
    else texts[name] = textOf(name, part);
  }
  const checked = validateBody(fields, texts);
  if (blob === null) throw invalidAll([{ path: "/file", message: "is required" }]);
  if (blob.size > fileBytesMax) throw new ApiError("payload_too_large");
  return { file: new Uint8Array(await blob.arrayBuffer()), fields: checked };
}

function fileOf(part: FormDataEntryValue): Blob {
  if (typeof part === "string") throw invalid("/file", "must be a file");
  return part;
}

function textOf(name: string, part: FormDataEntryValue): string {
  if (typeof part !== "string") throw invalid(`/${name}`, "must be a text");
  checkString(part, `/${name}`);
  return part;
}

function malformed(message: string): ApiError {
  return new ApiError("validation_failed", { message });
}
