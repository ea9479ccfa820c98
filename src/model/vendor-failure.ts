import { RetryError } from "ai";
import { cleanText } from "../messages/text.ts";
import { findBoundsError } from "../providers/bounds-error.ts";
import { describeModelError, failsBeforeSending, findCallError } from "./describe-error.ts";
import { withoutCredentials, withoutKey } from "./without-credentials.ts";

/** A call of a model that failed, as it is noted where it failed. */
export interface FailedCall {
  readonly error: unknown;
  /** The headers of its response, where that had begun. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a vendor said of a call of its model that failed, in its own words. */
export interface VendorFailure {
  /** The response's status, or the one that the vendor named in the midst of it; null where no response came. */
  readonly status: number | null;
  /** What the vendor calls the failure; of one without a response, what the network calls it. */
  readonly code: string | null;
  readonly message: string;
  /** The vendor's own id of the request. */
  readonly requestId: string | null;
}

/** In UTF-16 units. */
const messageUnitsMax = 500;
const codeUnitsMax = 100;
const requestIdUnitsMax = 200;
/** What a vendor says is looked at up to here. */
const wordsUnitsMax = 4_000;

/** Returns what the vendor said of a failed call, without credentials; null where none was made. */
export function vendorFailure({ error, headers }: FailedCall, apiKey: string): VendorFailure | null {
  const cause = RetryError.isInstance(error) ? error.lastError : error;
  if (failsBeforeSending(cause)) return null;
  const { said, status, named } = readFailure(cause, headers);
  const words = said?.message ?? "";
  const message = words.trim() === "" ? describeModelError(cause) : words;
  const requestId = requestIdOf(named ?? {}) ?? said?.requestId ?? null;
  const code = said?.code ?? (status === null ? networkCode(cause) : null);
  return {
    status,
    code: code === null ? null : cut(withoutCredentials(code.slice(0, wordsUnitsMax), apiKey), codeUnitsMax),
    message: cut(withoutCredentials(plainText(message), apiKey), messageUnitsMax),
    // No shape is looked for in it: ids are as long as credentials.
    requestId:
      requestId === null ? null : cut(withoutKey(requestId.slice(0, wordsUnitsMax), apiKey), requestIdUnitsMax),
  };
}

interface ReadFailure {
  readonly said: Said | null;
  readonly status: number | null;
  readonly named: FailedCall["headers"];
}

function readFailure(cause: unknown, headers: FailedCall["headers"]): ReadFailure {
  const call = findCallError(cause);
  if (call === null) {
    const isSaid = !(cause instanceof Error);
    const said = isSaid ? saidIn(cause) : null;
    return { said, status: said?.status ?? (headers === undefined ? null : begunStatus), named: headers };
  }
  const named = call.responseHeaders ?? headers;
  if (findBoundsError(cause) !== null || call.statusCode === undefined) {
    const status = call.statusCode ?? (named === undefined ? null : begunStatus);
    return { said: null, status, named };
  }
  const body = call.responseBody?.slice(0, errorUnitsMax) ?? "";
  const said = saidIn(parsed(body)) ?? saidIn(call.data) ?? saidIn(body);
  const status = call.statusCode < 400 ? (said?.status ?? call.statusCode) : call.statusCode;
  return { said, status, named };
}

/** An answer that breaks off began well. */
const begunStatus = 200;
/** An error's body is parsed up to here. */
const errorUnitsMax = 100_000;

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

interface Said {
  readonly message: string | null;
  readonly code: string | null;
  readonly requestId: string | null;
  /** Named amid an answer. */
  readonly status: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns what an error's body or an event says, in any of the vendors' shapes; null where it says nothing that can be read. */
function saidIn(value: unknown): Said | null {
  if (typeof value === "string")
    return value.trim() === "" ? null : { message: value, code: null, requestId: null, status: null };
  const outer = fieldsOf(Array.isArray(value) ? value[0] : value);
  if (outer === null) return null;
  const listed = Array.isArray(outer.errors) ? outer.errors[0] : outer.errors;
  const inner = outer.error ?? fieldsOf(outer.response)?.error ?? listed ?? outer;
  const fields = fieldsOf(inner) ?? {};
  const message = messageIn(inner) ?? messageIn(outer);
  const code = codeIn(fields) ?? codeIn(outer);
  if (message === null && code === null) return null;
  const raw = rawIn(fieldsOf(fields.metadata));
  return {
    message: raw === null || message === null || message.includes(raw) ? (message ?? raw) : `${message}: ${raw}`,
    code,
    requestId: requestIdOf(fields) ?? requestIdOf(outer),
    status: statusIn(fields) ?? statusIn(outer),
  };
}

/** Returns what the vendor behind a router said, which the router hands on. */
function rawIn(metadata: Fields | null): string | null {
  const raw = metadata?.raw;
  if (typeof raw !== "string") return messageIn(raw);
  return saidIn(parsed(raw.slice(0, errorUnitsMax)))?.message ?? textOf(raw);
}

function messageIn(value: unknown): string | null {
  if (typeof value === "string") return textOf(value);
  const fields = fieldsOf(Array.isArray(value) ? value[0] : value);
  if (fields === null) return null;
  for (const name of ["message", "msg", "error_description", "detail", "details", "title"]) {
    const found = typeof fields[name] === "object" ? messageIn(fields[name]) : textOf(fields[name]);
    if (found !== null) return found;
  }
  return null;
}

/** Returns the name of a failure; a number only where there is no name. */
function codeIn({ code, status, type }: Fields): string | null {
  const names = [code, status, type === "error" ? null : type];
  const name = names.find((one) => typeof one === "string" && one.trim() !== "" && !/^\d+$/.test(one));
  if (typeof name === "string") return name;
  const number = [code, status].find((one) => typeof one === "number" || (typeof one === "string" && one !== ""));
  return number === undefined ? null : String(number);
}

function statusIn({ statusCode, code, status }: Fields): number | null {
  const found = [statusCode, code, status].map(Number).find((one) => Number.isInteger(one) && one >= 400 && one < 600);
  return found ?? null;
}

/** Where vendors name their own id of a request: headers, and fields of a body. */
const requestIdNames = [
  "x-request-id",
  "request-id",
  "x-generation-id",
  "x-amzn-requestid",
  "x-vercel-id",
  "cf-ray",
  "request_id",
  "requestId",
  "generationId",
];

function requestIdOf(named: Fields): string | null {
  for (const name of requestIdNames) {
    const found = textOf(named[name]);
    if (found !== null) return found;
  }
  return null;
}

function networkCode(error: unknown): string | null {
  let link = error;
  for (let depth = 0; link instanceof Error && depth < 6; link = link.cause, depth++) {
    const { code } = link as { code?: unknown };
    if (typeof code === "string" && code !== "") return code;
  }
  return null;
}

/** Returns a text without the tags of a page, on one line. */
function plainText(text: string): string {
  const head = cleanText(text.slice(0, wordsUnitsMax));
  const isPage = /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(head);
  const words = isPage ? head.replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, " ").replace(/<[^<>]*>/g, " ") : head;
  return words.replace(/\s+/g, " ").trim();
}

/** Returns the beginning of a text, without half a pair at its end. */
function cut(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text;
  const last = text.charCodeAt(unitsMax - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? unitsMax - 1 : unitsMax);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}
