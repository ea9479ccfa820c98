import { resultBytesMax } from "../limits.ts";
import { asFields, asText, asTexts, type JsonFields, requiredText, Unreadable } from "../wire/fields.ts";
import { ProtocolErrorCode, SERVER_INFO_META_KEY, SUPPORTED_PROTOCOL_VERSIONS } from "../wire/sdk.ts";

/**
 * What of a server's messages reaches the client library (2.4.0). The library checks each whole
 * document by schemas that refuse all of it for one odd field, at 100 µs and 3 KB for each item
 * that does not fit. So it is handed messages of this file's making, which hold the fields that
 * are used and nothing else; the result of a call or a list goes past it (`resultKey`).
 */

/** The id of a JSON-RPC request. */
export type RequestId = string | number;

/** A request of ours, as far as the reading of its answer depends on it. */
export interface AskedRequest {
  readonly id: RequestId;
  readonly method: string;
}

/** A message as the library is handed it, and the result that goes past it. */
export interface ReadMessage {
  readonly message: JsonFields;
  /** It answers the request. */
  readonly isAnswer: boolean;
  /** It is an error under another id (the Python SDK has `server-error`): the answer, where none comes under the right one. */
  readonly isStray?: true;
  readonly result?: unknown;
}

/** Under this key of `_meta` the library passes on what goes past it: the result of a request as the server sent it. */
export const resultKey = "parley/result";
/** Under this key of an error's data it passes on why an answer cannot be read, or that none came. */
export const faultKey = "parley/fault";

/** The code of the errors that are made here. */
const ownErrorCode = -32_603;
/** The name of a server or its version has at most this many characters. */
const serverNameLengthMax = 256;
/** This many revisions of the protocol that a server says it speaks are looked at. */
const revisionsMax = 100;

/** Returns the error that tells the library, and through it the caller, why a request has no answer that can be read. */
export function faultMessage({ id }: AskedRequest, fault: string): JsonFields {
  return { jsonrpc: "2.0", id, error: { code: ownErrorCode, message: fault, data: { [faultKey]: fault } } };
}

/** Returns why a request has no answer, from an error's data; null where the error is the server's own. */
export function answerFaultOf(data: unknown): string | null {
  return asText(asFields(data)?.[faultKey]);
}

/**
 * Reads what a server sent in one go, a message or a list of them, as the answer to a request and
 * whatever came beside it. `isAlone`: it is the whole response to the request, so an answer without
 * an id is the answer to it. Throws `Unreadable` when the answer is there and cannot be read.
 */
export function readMessages(value: unknown, request: AskedRequest, isAlone: boolean): ReadMessage[] {
  if (!Array.isArray(value)) return readMessage(value, request, isAlone) ?? [];
  return value.flatMap((item) => readMessage(item, request, isAlone) ?? []);
}

function readMessage(value: unknown, request: AskedRequest, isAlone: boolean): ReadMessage[] | null {
  const fields = asFields(value);
  if (fields === null) return null;
  const method = asText(fields.method);
  if (method !== null) return fromServer(fields, method, request);
  const hasId = fields.id !== undefined && fields.id !== null;
  const isError = fields.error !== undefined && fields.error !== null;
  const { id } = request;
  const isOther = hasId && String(fields.id) !== String(id);
  if (isOther && isError)
    return [{ message: { jsonrpc: "2.0", id, error: readError(fields.error) }, isAnswer: false, isStray: true }];
  // An error without an id is one of the request whose response it stands in.
  if (isOther || (!hasId && !isAlone && !isError)) return null;
  if (isError) return [{ message: { jsonrpc: "2.0", id, error: readError(fields.error) }, isAnswer: true }];
  if (fields.result === undefined) {
    if (hasId || "jsonrpc" in fields) throw new Unreadable("it has neither `result` nor `error`");
    return null;
  }
  const { result } = fields;
  return [{ message: { jsonrpc: "2.0", id, result: resultFor(request, result) }, isAnswer: true, result }];
}

/** What a server sends unasked: signs of life, and questions, which the library answers. */
function fromServer({ id, params }: JsonFields, method: string, request: AskedRequest): ReadMessage[] | null {
  if (typeof id === "string" || Number.isSafeInteger(id))
    return [{ message: { jsonrpc: "2.0", id, method }, isAnswer: false }];
  if (method === "notifications/tools/list_changed") return [{ message: { jsonrpc: "2.0", method }, isAnswer: false }];
  if (method !== "notifications/progress") return null;
  const { progressToken, progress, total, message } = asFields(params) ?? {};
  if (String(progressToken) !== String(request.id)) return null;
  const said = {
    progressToken: request.id,
    progress: readNumber(progress) ?? 0,
    ...(readNumber(total) === null ? {} : { total: readNumber(total) }),
    ...(asText(message) === null ? {} : { message: asText(message) }),
  };
  return [{ message: { jsonrpc: "2.0", method, params: said }, isAnswer: false }];
}

function readNumber(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

/** Reads an error in whatever shape: some servers send a text, a code that is a text, or no message. */
function readError(error: unknown): JsonFields {
  const { code, message, data } = asFields(error) ?? { message: error };
  const number = readNumber(code);
  const text = typeof message === "string" ? message : "";
  return {
    code: Number.isSafeInteger(number) ? number : ownErrorCode,
    message: text.slice(0, resultBytesMax) || "The server gave no reason.",
    ...(number === ProtocolErrorCode.UnsupportedProtocolVersion ? { data: supportedIn(data) } : {}),
  };
}

/** What a server that does not speak a revision says about those that it does. */
function supportedIn(data: unknown): JsonFields {
  const { supported, requested } = asFields(data) ?? {};
  return { supported: asTexts(supported)?.slice(0, revisionsMax) ?? [], requested: asText(requested) ?? "" };
}

/** Fits the library's schemas of every revision; what counts is read from the result itself. */
const emptyResult = { resultType: "complete", content: [], tools: [], ttlMs: 0, cacheScope: "private", _meta: {} };

/** Returns the result that the library is handed: what it reads itself, as far as it reads it. Throws `Unreadable`. */
function resultFor({ method }: AskedRequest, result: unknown): JsonFields {
  if (method !== "initialize" && method !== "server/discover") return emptyResult;
  const fields = asFields(result);
  if (fields === null) throw new Unreadable("`result` is no object");
  const capabilities = readCapabilities(fields.capabilities);
  if (method === "initialize")
    return { protocolVersion: readRevision(fields), capabilities, serverInfo: readServer(fields.serverInfo) };
  const supportedVersions = asTexts(fields.supportedVersions)?.slice(0, revisionsMax);
  if (supportedVersions === undefined) throw new Unreadable("`supportedVersions` is no list");
  const meta = { [SERVER_INFO_META_KEY]: readServer(asFields(fields._meta)?.[SERVER_INFO_META_KEY]) };
  return { ...emptyResult, supportedVersions, capabilities, _meta: meta };
}

function readRevision(fields: JsonFields): string {
  const revision = requiredText(fields, "protocolVersion");
  if (!SUPPORTED_PROTOCOL_VERSIONS.includes(revision))
    throw new Unreadable("`protocolVersion` names a revision that this client does not speak");
  return revision;
}

function readServer(value: unknown): JsonFields {
  const { name, version } = asFields(value) ?? {};
  return { name: shortText(name), version: shortText(version) };
}

function shortText(value: unknown): string {
  return (asText(value) ?? "").slice(0, serverNameLengthMax);
}

/** Of what a server can do, whether it has tools and takes calls of them as tasks. */
function readCapabilities(value: unknown): JsonFields {
  const capabilities = asFields(value) ?? {};
  const requests = asFields(asFields(capabilities.tasks)?.requests);
  const takesTasks = isSaid(asFields(requests?.tools)?.call);
  return {
    ...(isSaid(capabilities.tools) ? { tools: {} } : {}),
    ...(takesTasks ? { tasks: { requests: { tools: { call: {} } } } } : {}),
  };
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
