import fc from "fast-check";
import { fromSchema, idOf, type KnownIds, type Schema } from "./from-schema.ts";
import { hostile, hostileText } from "./hostile.ts";

/** An operation as the OpenAPI document describes it. */
export interface Described {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/** Ids of the tenant that asks, and of another one. */
export interface Ids {
  readonly own: KnownIds;
  readonly foreign: KnownIds;
}

/** A call that succeeds, to be spoilt. */
export interface Usual {
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What the requests are made from. */
export interface Target {
  readonly op: string;
  readonly method: string;
  /** `/v1/agents/{agentId}` */
  readonly path: string;
  readonly described: Described;
  /** A call that succeeds. */
  readonly usual: Usual;
}

/** A request, before it is one: it prints, and it shrinks. */
export interface Shot {
  readonly op: string;
  readonly path: string;
  /** Whether the path may be another operation's, or unknown. */
  readonly strays: boolean;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The text to send, nothing, or the usual form or bytes. */
  readonly body: string | null | "usual";
  /** The body's bytes are to be cut here, in the middle of a character or of the JSON. */
  readonly cutAt: number | null;
}

/** Path texts that a router or a decoder may trip over; they go into the path as they are. */
const rawPathTexts = ["%", "%zz", "%ff", "%00", "%2f", "..", "a/b", "%E0%A4%A", ";x=1", "%25", "*", "%F0%9F%98%80"];

interface Param {
  readonly text: string;
  readonly strays: boolean;
}

/** What would take things away that later requests need is only aimed at the other tenant's. */
const takesAway = ({ method, path }: Target) => method === "DELETE" || path.endsWith("/disable");

function paramOf(name: string, schema: Schema, target: Target, { own, foreign }: Ids): fc.Arbitrary<Param> {
  const known = (prefix: string) => ({
    [prefix]: [...(takesAway(target) ? [] : (own[prefix] ?? [])), ...(foreign[prefix] ?? [])],
  });
  const prefix = /^\^([a-z]+)_/.exec(schema.pattern ?? "")?.[1];
  const encoded = (text: string) => ({
    text: encodeURIComponent(text.toWellFormed()),
    strays: text === "" || /^\.+$/.test(text),
  });
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(encoded(target.usual.params[name] ?? "x")) },
    { weight: 4, arbitrary: (prefix === undefined ? hostileText : idOf(prefix, known(prefix))).map(encoded) },
    { weight: 1, arbitrary: hostileText.map(encoded) },
    { weight: 1, arbitrary: fc.constantFrom(...rawPathTexts).map((text) => ({ text, strays: true })) },
  );
}

function pathOf(target: Target, ids: Ids): fc.Arbitrary<{ path: string; strays: boolean }> {
  const fields = target.described.parameters.filter((field) => field.in === "path");
  const all = fields.map(({ name, schema }) => paramOf(name, schema, target, ids).map((param) => ({ name, param })));
  return fc.tuple(...all).map((params) => ({
    path: params.reduce((path, { name, param }) => path.replace(`{${name}}`, () => param.text), target.path),
    strays: params.some(({ param }) => param.strays),
  }));
}

const asText = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

function queryOf(target: Target, ids: Ids): fc.Arbitrary<string> {
  const fields = target.described.parameters.filter((field) => field.in === "query");
  const known = fields.map(({ name, schema }) =>
    fc.option(
      fc
        .oneof({ weight: 3, arbitrary: fromSchema(schema, ids.own) }, { weight: 2, arbitrary: hostileText })
        .map((value) => `${name}=${encodeURIComponent(asText(value).toWellFormed())}`),
      { freq: 2 },
    ),
  );
  const odd = fc.option(fc.constantFrom("surprise=1", "=", "&&", "%ff=%ff", "limit=1&limit=2", "__proto__=1"), {
    freq: 8,
  });
  return fc.tuple(...known, odd).map((all) => all.filter((field) => field !== null).join("&"));
}

const headersOf: fc.Arbitrary<Record<string, string>> = fc
  .record({
    "api-form": fc.option(fc.constantFrom("a", "b", "b", "c", ""), { freq: 6 }),
    "content-type": fc.constantFrom(
      ...Array.from({ length: 5 }, () => null),
      "application/json; charset=utf-16",
      "text/plain",
      "multipart/form-data; boundary=x",
      "multipart/form-data",
      "",
    ),
    "idempotency-key": fc.option(fc.constantFrom("k", "x".repeat(256), "😀", " "), { freq: 6 }),
    "last-event-id": fc.option(fc.constantFrom("x", "1:99999999999", ":"), { freq: 8 }),
    "x-request-id": fc.option(fc.constantFrom("x", "a".repeat(500)), { freq: 9 }),
  })
  .map((all) => {
    const given = Object.entries(all).filter(([name, value]) => value !== null && isHeader(name, value));
    return Object.fromEntries(given) as Record<string, string>;
  });

function isHeader(name: string, value: string | null): boolean {
  try {
    new Headers({ [name]: value ?? "" });
    return true;
  } catch {
    return false;
  }
}

/** The usual body with one field replaced, left out or added. */
function mutated(body: unknown): fc.Arbitrary<unknown> {
  if (typeof body !== "object" || body === null || body instanceof FormData || body instanceof Uint8Array)
    return hostile;
  const names = [...Object.keys(body), "surprise"];
  return fc
    .tuple(fc.constantFrom(...names), fc.option(hostile, { nil: undefined }))
    .map(([name, value]) => ({ ...body, [name]: value }));
}

/** Multipart bodies, written out so that their lines can be wrong. */
const multipartText = fc
  .tuple(fc.constantFrom("file", "type", "other", "metadata"), hostileText, fc.boolean())
  .map(
    ([name, value, isFile]) =>
      `--x\r\nContent-Disposition: form-data; name="${name}"${isFile ? '; filename="f"' : ""}\r\n\r\n${value}\r\n--x--\r\n`,
  );

function bodyOf(target: Target, ids: Ids): fc.Arbitrary<string | null> {
  if (target.method === "GET") return fc.constant(null);
  const schemas = Object.values(target.described.requestBody?.content ?? {}).flatMap(({ schema }) => schema ?? []);
  const json = (value: unknown) => JSON.stringify(withStream(value)) ?? "";
  return fc.oneof(
    ...schemas.map((schema) => ({ weight: 6, arbitrary: fromSchema(schema, ids.own).map(json) })),
    { weight: 6, arbitrary: mutated(target.usual.body).map(json) },
    { weight: 1, arbitrary: hostile.map(json) },
    { weight: 1, arbitrary: multipartText },
    { weight: 1, arbitrary: fc.constantFrom("", "{", "[]", "null", '{"a":1,"a":2}', '"\\ud800"', "1e999", "{} {}") },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

/** No worker runs while requests are sent, so none may wait for the end of a turn. */
function withStream(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { stream } = value as { stream?: unknown };
  // A response (`POST /v1/responses`) is not streamed where nothing is said.
  const isWaiting = stream === false || ((stream === undefined || stream === null) && "input" in value);
  return isWaiting ? { ...value, stream: true } : value;
}

/** The usual body as a request carries it: fields as text, forms and bytes by name. */
function usualBody({ body }: Usual): string | null {
  if (body === undefined) return null;
  return body instanceof FormData || body instanceof Uint8Array ? "usual" : JSON.stringify(withStream(body));
}

const parts = ["at", "query", "headers", "body"] as const;

/** Requests of an operation, spoilt in one part or two, so that many get far. */
export function shotsAt(target: Target, ids: Ids): fc.Arbitrary<Shot> {
  const { params, query, headers } = target.usual;
  const path = target.path.replace(/\{([A-Za-z]+)\}/g, (_, name) => encodeURIComponent(params[name] ?? "x"));
  const usual = { at: { path, strays: false }, query, headers, body: usualBody(target.usual) };
  return fc
    .record({
      spoilt: fc.subarray([...parts], { minLength: 1, maxLength: 2 }),
      at: pathOf(target, ids),
      query: queryOf(target, ids),
      headers: headersOf.map((odd) => ({ ...headers, ...odd })),
      body: bodyOf(target, ids),
      cutAt: fc.option(fc.nat(40), { freq: 30 }),
    })
    .map(({ spoilt, cutAt, ...odd }) => {
      const chosen = Object.fromEntries(parts.map((part) => [part, (spoilt.includes(part) ? odd : usual)[part]]));
      const { at, ...rest } = chosen as typeof usual;
      return { op: target.op, ...at, ...rest, cutAt: spoilt.includes("body") ? cutAt : null };
    });
}
