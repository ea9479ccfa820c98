import { readBytes } from "../bounded-read.ts";
import { ApiError, invalid } from "../errors.ts";
import { jsonBodyBytesMax, jsonDepthMax } from "../limits.ts";

/**
 * Reads a JSON body (docs/decisions.md, "Requests").
 * An empty body reads as undefined, so that operations without one take none.
 * Throws 400 for another media type, malformed JSON, NUL characters and lone
 * surrogates, numbers without bounds, 413 above `jsonBodyBytesMax`.
 */
export async function readJson(request: Request): Promise<unknown> {
  const bytes = await readBytes(request, jsonBodyBytesMax);
  const mediaType = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (bytes.byteLength === 0) return undefined;
  if (mediaType !== "application/json") {
    throw new ApiError("validation_failed", {
      message: "The body must be JSON, sent with Content-Type: application/json.",
    });
  }
  const value = parse(bytes);
  checkText(value, "", 0);
  return value;
}

/** Reads the JSON that a text field holds. Throws 400 naming the field. */
export function readJsonField(text: string, path: string): unknown {
  try {
    const value = JSON.parse(text);
    checkText(value, path, 0);
    return value;
  } catch (error) {
    throw error instanceof ApiError ? error : invalid(path, "must be JSON");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new ApiError("validation_failed", { message: "The body is not valid JSON." });
  }
}

/**
 * Throws 400 for a JSON value with NUL or half a surrogate pair, which Postgres stores neither of, one that nests too
 * deep, or one with a number like 1e400, which reads as infinity and would be stored as null.
 */
export function checkText(value: unknown, path: string, depth: number): void {
  if (depth > jsonDepthMax) throw invalid(path, `nests deeper than ${jsonDepthMax} levels`);
  if (typeof value === "string") checkString(value, path);
  if (typeof value === "number" && !Number.isFinite(value)) throw invalid(path, "is a number too large to be kept");
  if (typeof value !== "object" || value === null) return;
  for (const [key, field] of Object.entries(value)) {
    checkString(key, path);
    checkText(field, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1);
  }
}

/** Throws 400 when a text holds NUL or a lone surrogate. */
export function checkString(text: string, path: string): void {
  if (text.includes("\0")) throw invalid(path, "must not contain the NUL character");
  if (!text.isWellFormed()) throw invalid(path, "must be well-formed Unicode");
}
