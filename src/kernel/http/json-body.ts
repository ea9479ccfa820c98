import { SharedSlots } from "../async/shared-slots.ts";
import { joined, readPieces } from "../bounded-read.ts";
import { ApiError, invalid } from "../errors.ts";
import { jsonBodyBytesMax, jsonDepthMax } from "../limits.ts";
import { limitValues } from "./count-values.ts";

/**
 * Reads a JSON body (docs/decisions/requests.md).
 * An empty body reads as undefined, so that operations without one take none.
 * Throws 400 for another media type, malformed JSON, NUL characters and lone
 * surrogates, numbers without bounds, 413 above `bytesMax` or `jsonValuesMax`.
 */
export async function readJson(request: Request, tenantId: string, bytesMax = jsonBodyBytesMax): Promise<unknown> {
  return jsonOfPieces(request, tenantId, await readPieces(request, bytesMax));
}

/** Does what `readJson` does with a body that was read. */
export async function jsonOfPieces(
  request: Request,
  tenantId: string,
  pieces: readonly Uint8Array[],
): Promise<unknown> {
  const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const mediaType = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (size === 0) return undefined;
  if (mediaType !== "application/json") {
    throw new ApiError("validation_failed", {
      message: "The body must be JSON, sent with Content-Type: application/json.",
    });
  }
  if (size <= largeBytes) return read(pieces);
  return largeBodies.run(tenantId, null, () => read(pieces));
}

/** JSON above this takes a millisecond or more to read. */
const largeBytes = 64 * 1024;
/** Of one tenant's large bodies one is read at a time: each holds up the other requests of the process for some milliseconds. The wait ends, as nothing but reading is waited for. */
const largeBodies = new SharedSlots(Number.POSITIVE_INFINITY, 1);

async function read(pieces: readonly Uint8Array[]): Promise<unknown> {
  await limitValues(pieces);
  const value = parse(joined(pieces));
  checkText(value, "");
  return value;
}

/** Reads the JSON that a text field holds. Throws 400 naming the field, 413 for too many values. */
export async function readJsonField(text: string, path: string): Promise<unknown> {
  await limitValues([Buffer.from(text)]);
  try {
    const value = JSON.parse(text);
    checkText(value, path);
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

/** What is wrong with a JSON value, and the fields that lead to it, the innermost first. */
interface Fault {
  readonly message: string;
  readonly names: string[];
}

/**
 * Throws 400 for a JSON value with NUL or half a surrogate pair, which Postgres stores neither of, one that nests too
 * deep, or one with a number like 1e400, which reads as infinity and would be stored as null.
 */
export function checkText(value: unknown, path: string): void {
  const fault = findFault(value, 0);
  if (fault === null) return;
  const names = fault.names.reverse().map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1"));
  throw invalid([path, ...names].join("/"), fault.message);
}

/** The path of a fault is put together only once there is one: a body may have a hundred thousand values. */
function findFault(value: unknown, depth: number): Fault | null {
  if (depth > jsonDepthMax) return { message: `nests deeper than ${jsonDepthMax} levels`, names: [] };
  if (typeof value === "string") return findTextFault(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return { message: "is a number too large to be kept", names: [] };
  if (typeof value !== "object" || value === null) return null;
  return Array.isArray(value) ? findItemFault(value, depth) : findFieldFault(value, depth);
}

function findItemFault(items: readonly unknown[], depth: number): Fault | null {
  for (let index = 0; index < items.length; index++) {
    const fault = findFault(items[index], depth + 1);
    if (fault === null) continue;
    fault.names.push(String(index));
    return fault;
  }
  return null;
}

function findFieldFault(fields: object, depth: number): Fault | null {
  for (const [name, field] of Object.entries(fields)) {
    const inName = findTextFault(name);
    if (inName !== null) return inName;
    const fault = findFault(field, depth + 1);
    if (fault === null) continue;
    fault.names.push(name);
    return fault;
  }
  return null;
}

function findTextFault(text: string): Fault | null {
  if (text.includes("\0")) return { message: "must not contain the NUL character", names: [] };
  return text.isWellFormed() ? null : { message: "must be well-formed Unicode", names: [] };
}

/** Throws 400 when a text holds NUL or a lone surrogate. */
export function checkString(text: string, path: string): void {
  const fault = findTextFault(text);
  if (fault !== null) throw invalid(path, fault.message);
}
