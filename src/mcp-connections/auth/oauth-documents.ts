import { Buffer } from "node:buffer";
import { jsonValuesMax } from "../../kernel/limits.ts";
import type { Fetch } from "../../kernel/outbound/fetch.ts";
import { notMcp } from "../wire/failure.ts";
import { asFields, asText, asTexts, type JsonFields, requiredText, Unreadable } from "../wire/fields.ts";
import { readLenientJson } from "../wire/lenient-json.ts";
import type { ServerMetadata } from "./server-metadata.ts";

/**
 * The documents of authorization servers, read for the fields that are used. The client library
 * (2.4.0) refuses a whole document for one field that is null or of another type; so it is handed
 * documents of this file's making.
 */

/** Of a list in a document this many entries are used, each of at most this many characters. */
const entriesMax = 200;
const entryLengthMax = 256;
/** A lifetime that is longer is taken for none: 100 years, in seconds. */
const lifetimeSecondsMax = 100 * 365 * 24 * 3600;
/** Errors of vendors that say what `invalid_grant` says. */
const invalidGrants = new Set(["bad_refresh_token", "invalid_refresh_token", "bad_verification_code", "invalid_code"]);

/** How the answers of one kind of request are read. */
export interface DocumentReader {
  /** Whose document it is and which, for messages: "The authorization server's token answer". */
  readonly what: string;
  /** Where there is no such document, another one is looked for. */
  readonly mayBeMissing: boolean;
  /** Returns what the library is handed; null: it is no such document. Throws `Unreadable`. */
  read(fields: JsonFields): object | null;
}

/**
 * Returns a fetch whose answers are read by what `readerOf` returns for their address. Refusals
 * keep their status and the code of the error. Rejects with `McpFailure` for a document that
 * cannot be read, whose message names the server and the field.
 */
export function readingFetch(fetch: Fetch, readerOf: (url: URL) => DocumentReader): Fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const response = await fetch(input, init);
    if (response.status >= 300 && response.status < 400) return response;
    const bytes = Buffer.from(await response.arrayBuffer());
    if (!response.ok) return Response.json(readRefusal(await fieldsIn(bytes, response)), { status: response.status });
    const { what, mayBeMissing, read } = readerOf(url);
    try {
      const fields = await fieldsIn(bytes, response);
      if (typeof fields === "string") throw new Unreadable(fields);
      const document = fields === null ? null : read(fields);
      if (document !== null) return Response.json(document);
      if (mayBeMissing) return new Response(null, { status: 404 });
      throw new Unreadable("it is no object of JSON");
    } catch (error) {
      throw error instanceof Unreadable ? notMcp(`${what}: ${error.message}.`) : error;
    }
  };
}

/** Returns the fields of a document, of JSON or, as GitHub answers where it is asked for nothing else, of a form; null: it has none; a text: why it is not read. */
async function fieldsIn(bytes: Buffer, response: Response): Promise<JsonFields | string | null> {
  const type = response.headers.get("content-type")?.toLowerCase() ?? "";
  if (type.startsWith("application/x-www-form-urlencoded"))
    return Object.fromEntries([...new URLSearchParams(bytes.toString())].slice(0, entriesMax));
  const read = await readLenientJson(bytes);
  if (read.outcome === "too_many_values") return `it has more than ${jsonValuesMax} values`;
  if (read.outcome === "too_deep") return "it nests too deep";
  return read.outcome === "read" ? asFields(read.value) : null;
}

/** The error in a refusal; an empty document where there is none that can be read. */
function readRefusal(fields: JsonFields | string | null): object {
  const error = typeof fields === "string" ? null : readErrorCode(fields?.error);
  return error === null ? {} : { error };
}

function readErrorCode(error: unknown): string | null {
  const code = asText(error)?.slice(0, entryLengthMax) ?? (asFields(error) === null ? null : "unknown");
  return code !== null && invalidGrants.has(code) ? "invalid_grant" : code;
}

/** Reads the answer to a request for tokens (RFC 6749). */
export const tokenAnswer: DocumentReader = {
  what: "The authorization server's token answer",
  mayBeMissing: false,
  read(fields) {
    const error = readErrorCode(fields.error);
    // Slack has the tokens of a person in a separate object.
    const holder = present(fields.access_token) ? fields : (asFields(fields.authed_user) ?? fields);
    if (!present(holder.access_token) && error !== null) return { error };
    const expiresIn = readLifetime(holder.expires_in);
    return {
      access_token: headerText(holder, "access_token"),
      token_type: "Bearer",
      ...(asText(holder.refresh_token) === null ? {} : { refresh_token: holder.refresh_token }),
      ...(expiresIn === null ? {} : { expires_in: expiresIn }),
    };
  },
};

/** Returns a lifetime in seconds; null where it is not known: missing, null, empty, 0 or no number. */
function readLifetime(value: unknown): number | null {
  const seconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof seconds !== "number" || !(seconds > 0)) return null;
  return seconds <= lifetimeSecondsMax ? seconds : null;
}

/** Reads the answer to a registration (RFC 7591). */
export const registrationAnswer: DocumentReader = {
  what: "The authorization server's registration answer",
  mayBeMissing: false,
  read(fields) {
    const id = typeof fields.client_id === "number" ? { client_id: String(fields.client_id) } : fields;
    const secret = present(fields.client_secret) ? headerText(fields, "client_secret") : null;
    const method = asText(fields.token_endpoint_auth_method);
    const known = method !== null && ["client_secret_basic", "client_secret_post", "none"].includes(method);
    return {
      client_id: headerText(id, "client_id"),
      redirect_uris: [],
      ...(secret === null ? { token_endpoint_auth_method: "none" } : { client_secret: secret }),
      ...(secret !== null && known ? { token_endpoint_auth_method: method } : {}),
    };
  },
};

/** What the documents of a discovery said. */
export interface Discovered {
  metadata: ServerMetadata | null;
  scopesSupported: readonly string[];
  /** The fault of the resource's metadata, which the library keeps to itself. */
  fault: Error | null;
}

/** Returns the readers of a discovery: the metadata of the resource (RFC 9728), then those of its authorization server (RFC 8414, OpenID Connect), and keeps what they said. */
export function discoveryReaders(requestedResource: URL, found: Discovered): (url: URL) => DocumentReader {
  let issuer = new URL("/", requestedResource).href;
  let isOfServer = false;
  const ofResource: DocumentReader = {
    what: "The MCP server's resource metadata",
    mayBeMissing: true,
    read(fields) {
      const servers = asTexts(fields.authorization_servers) ?? [];
      const usable = servers.slice(0, entriesMax).filter(isHttpUrl);
      found.scopesSupported = entries(fields.scopes_supported) ?? [];
      issuer = usable[0] ?? issuer;
      const resource = asText(fields.resource) ?? requestedResource.href;
      if (!URL.canParse(resource)) throw faulty(found, "`resource` is no URL");
      if (servers.length > 0 && usable.length === 0) throw faulty(found, "`authorization_servers` holds no URL");
      return { resource, authorization_servers: usable };
    },
  };
  const ofServer: DocumentReader = {
    what: "The authorization server's metadata",
    mayBeMissing: true,
    read(fields) {
      if (!present(fields.issuer) && !present(fields.token_endpoint)) return null;
      const metadata = readServerMetadata(fields);
      found.metadata = metadata;
      const asFound = withoutSlash(metadata.issuer) === withoutSlash(issuer) ? issuer : metadata.issuer;
      return { ...metadata, ...oidcFields(metadata), issuer: asFound };
    },
  };
  return ({ pathname }) => {
    isOfServer ||= /\/\.well-known\/(oauth-authorization-server|openid-configuration)/.test(pathname);
    return isOfServer ? ofServer : ofResource;
  };
}

/** The library passes over faults of the resource's metadata; then the tenant would not be told. */
function faulty(found: Discovered, message: string): Unreadable {
  found.fault = notMcp(`The MCP server's resource metadata: ${message}.`);
  return new Unreadable(message);
}

/** What the library's schemas want of a provider of OpenID Connect, and what is not used here. */
function oidcFields(metadata: ServerMetadata): object {
  return {
    authorization_endpoint: metadata.authorization_endpoint ?? metadata.token_endpoint,
    jwks_uri: metadata.token_endpoint,
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  };
}

/** Reads what tokens need; it is sealed and stored. */
function readServerMetadata(fields: JsonFields): ServerMetadata {
  const challenges = entries(fields.code_challenge_methods_supported);
  const methods = entries(fields.token_endpoint_auth_methods_supported);
  return {
    issuer: requiredText(fields, "issuer"),
    token_endpoint: requiredUrl(fields, "token_endpoint"),
    ...(present(fields.authorization_endpoint)
      ? { authorization_endpoint: requiredUrl(fields, "authorization_endpoint") }
      : {}),
    ...optionalUrl(fields, "registration_endpoint"),
    ...optionalUrl(fields, "revocation_endpoint"),
    response_types_supported: entries(fields.response_types_supported) ?? ["code"],
    ...(challenges === null ? {} : { code_challenge_methods_supported: challenges }),
    ...(methods === null ? {} : { token_endpoint_auth_methods_supported: methods }),
    authorization_response_iss_parameter_supported: fields.authorization_response_iss_parameter_supported === true,
    client_id_metadata_document_supported: fields.client_id_metadata_document_supported === true,
  };
}

function entries(value: unknown): string[] | null {
  const texts = Array.isArray(value) ? asTexts(value.slice(0, entriesMax)) : asTexts(asText(value));
  return texts?.filter((text) => text.length <= entryLengthMax).slice(0, entriesMax) ?? null;
}

function present(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function requiredUrl(fields: JsonFields, name: string): string {
  const url = requiredText(fields, name);
  if (!isHttpUrl(url)) throw new Unreadable(`\`${name}\` is no http or https URL`);
  return url;
}

function optionalUrl<Name extends string>(fields: JsonFields, name: Name): Partial<Record<Name, string>> {
  const url = asText(fields[name]);
  return url !== null && isHttpUrl(url) ? ({ [name]: url } as Partial<Record<Name, string>>) : {};
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Returns a text that can be sent in a header. */
function headerText(fields: JsonFields, name: string): string {
  const text = requiredText(fields, name).trim();
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Unreadable(`\`${name}\` holds characters that no header takes`);
  return text;
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
