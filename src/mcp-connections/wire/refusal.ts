import type { Buffer } from "node:buffer";
import type { ForeignJson } from "../../kernel/json-bounds.ts";
import { isBlank } from "../../messages/blank.ts";
import { asFields, asText } from "./fields.ts";

/** Of what a server says of a call that it refuses with a status of HTTP, the model gets this many characters. */
const refusalWordsMax = 4_000;

/** A server answered a call with a status of HTTP that says no, and not as the protocol has it. The connection is all right. */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly status: number;

  /** `words` are the server's own, and for the model alone. */
  constructor(status: number, words: string | null) {
    super(`The MCP server answered the call with HTTP ${status}${words === null ? "." : `: ${words}`}`);
    this.status = status;
  }
}

const callMethods = new Set(["tools/call", "tasks/get", "tasks/result", "tasks/update"]);

/** Whether a request is a call of a tool, or about one that became a task. */
export const isOfCall = (method: string) => callMethods.has(method);

/**
 * Statuses that are about the way to the server and not about a call: credentials, an address or a
 * session that is not there, another method, and a proxy whose server is down. Those from 520 to 530
 * are Cloudflare's for the last.
 */
const wayStatuses = new Set([401, 403, 404, 405, 410, 502, 503, 504]);

/** Whether a status without an error of the protocol is about the way to the server. */
export function isOfWay(status: number): boolean {
  return status < 400 || wayStatuses.has(status) || (status >= 520 && status <= 530);
}

/** Returns what a refusal says for a person to read, in one of the shapes that frameworks give errors, or as plain text. Null where it says nothing. */
export function refusalWords(read: ForeignJson, bytes: Buffer): string | null {
  const words = read.outcome === "read" ? wordsIn(read.value) : plainWords(bytes);
  return words === null || isBlank(words) ? null : words.trim().slice(0, refusalWordsMax);
}

/** JSON-RPC and Express have `error.message`, Spring `message`, FastAPI `detail`, OAuth `error_description`, problem details (RFC 9457) `detail` and `title`. */
function wordsIn(value: unknown): string | null {
  if (typeof value === "string") return asText(value);
  const fields = asFields(Array.isArray(value) ? value[0] : value);
  if (fields === null) return null;
  const { error, message, detail, error_description: description, title, errors, msg } = fields;
  const inside = asFields(error);
  const listed = [detail, errors].flatMap((list) => (Array.isArray(list) ? [wordsIn(list.slice(0, 1))] : []));
  return (
    [inside?.message, inside?.detail, description, message, detail, msg, ...listed, error, title]
      .map(asText)
      .find((words) => words !== null) ?? null
  );
}

/** A page is for browsers, and what is no UTF-8 cannot be read. */
function plainWords(bytes: Buffer): string | null {
  const text = bytes.toString("utf8", 0, refusalWordsMax * 4);
  return /^[\ufeff\s]*</.test(text) || text.slice(0, refusalWordsMax).includes("\ufffd") ? null : text;
}
