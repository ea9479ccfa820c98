import type { TObject, TSchema } from "@sinclair/typebox";
import { type ErrorCause, type Form, spell } from "../errors.ts";
import { type AnswerBody, type AnyOperation, keyErrors } from "./operation.ts";

/** A mounted operation. */
export interface MountedOperation {
  readonly method: string;
  /** Elysia's spelling: `/v1/agents/:agentId`. */
  readonly path: string;
  readonly spec: AnyOperation;
}

/** What every operation may answer (document 1, "Errors"; `decisions.md`). */
const sharedCauses: readonly ErrorCause[] = [
  // A header that is not valid is so everywhere, whatever an operation calls its broken fields.
  "validation_failed",
  "unauthorized",
  "subscription_required",
  "rate_limited",
  "internal",
  "service_unavailable",
];

/** The OpenAPI 3.1 document of the mounted operations, in form B, with form A's spelling of each error beside it. */
export function openApiDocument(operations: readonly MountedOperation[], publicUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:([A-Za-z]+)/g, "{$1}").replace(/(.)\/$/, "$1");
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Parley",
      version: "1",
      description:
        "A multi-tenant agent runtime. Fields are shown in form B; the header `API-Form: a` (or the tenant's default form) selects form A. " +
        "Each error lists its code in form B and, where it differs, in form A.",
    },
    servers: [{ url: publicUrl }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "An API key or a dashboard JWT." } },
      schemas: { Error: errorSchema },
    },
  };
}

const errorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message", "requestId"],
      properties: {
        code: { type: "string" },
        message: { type: "string" },
        details: {
          type: "object",
          properties: {
            issues: {
              type: "array",
              items: { type: "object", properties: { path: { type: "string" }, message: { type: "string" } } },
            },
          },
        },
        requestId: { type: "string" },
      },
    },
  },
};

function describeOperation({ method, path, spec }: MountedOperation): object {
  const tag =
    path.split("/").findLast((part, index) => index >= 2 && part !== "" && !part.startsWith(":")) ?? "service";
  const parameters = [...fieldsOf("path", spec.params), ...fieldsOf("query", spec.query), formParameter];
  const takesKey = method === "POST";
  return {
    operationId: spec.id,
    summary: spec.summary,
    ...(spec.onlyForm === undefined ? {} : { description: `Only in form ${spec.onlyForm}; 404 in the other.` }),
    tags: [path.split("/")[2] ?? tag],
    parameters: takesKey ? [...parameters, keyParameter] : parameters,
    ...requestBodyOf(spec),
    responses: { ...successesOf(spec), ...errorsOf(spec, method) },
  };
}

const formParameter = {
  name: "API-Form",
  in: "header",
  required: false,
  schema: { type: "string", enum: ["a", "b"] },
};
const keyParameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", maxLength: 255 },
};

function fieldsOf(place: "path" | "query", schema: TObject | undefined): object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => ({
    name,
    in: place,
    required: place === "path" || (schema?.required?.includes(name) ?? false),
    schema: plain(field),
  }));
}

function requestBodyOf({ body, bodyInA }: AnyOperation): object {
  if (body === undefined) return {};
  if (body === "raw")
    return { requestBody: { content: { "application/octet-stream": {}, "multipart/form-data": {} } } };
  const inA = bodyInA === undefined ? {} : { "application/json; form=a": { schema: plain(bodyInA) } };
  return { requestBody: { required: true, content: { "application/json": { schema: plain(body) }, ...inA } } };
}

/** Successes by status, each with what it may answer. */
function successesOf({ success, answer, answerInA, otherwise = {} }: AnyOperation): Record<string, object> {
  const usual: readonly AnswerBody[] = answer === undefined ? [] : isList(answer) ? answer : [answer];
  const all = Object.entries({ ...otherwise, [success]: null }).map(([status, body]) => {
    const bodies = Number(status) === success ? usual : body === null || body === undefined ? [] : [body];
    if (bodies.length === 0) return [status, { description: "Done; no body." }];
    const content = Object.assign({}, ...bodies.map(contentOf));
    const inA = answerInA === undefined ? {} : { "application/json; form=a": { schema: plain(answerInA) } };
    return [status, { description: "Done.", content: { ...content, ...inA } }];
  });
  return Object.fromEntries(all);
}

function isList(answer: AnswerBody | readonly AnswerBody[]): answer is readonly AnswerBody[] {
  return Array.isArray(answer);
}

function contentOf(body: AnswerBody): object {
  if (body === "stream") return { "text/event-stream": { schema: { type: "string" } } };
  if (body === "bytes") return { "application/octet-stream": {} };
  return { "application/json": { schema: plain(body) } };
}

/** Causes that follow from what the operation takes, and in which form. */
function impliedCauses(
  { body, idempotency, onlyForm, invalidAs }: AnyOperation,
  method: string,
): readonly ErrorCause[] {
  return [
    ...(invalidAs === undefined ? [] : [invalidAs]),
    ...(onlyForm === undefined ? [] : (["not_found"] as const)),
    ...(body === undefined || body === "raw" ? [] : (["payload_too_large"] as const)),
    ...(method === "POST" && idempotency !== "own" ? keyErrors : []),
  ];
}

/** Errors by status; several causes may share one. */
function errorsOf(spec: AnyOperation, method: string): Record<string, object> {
  const causes = new Set<ErrorCause>([...sharedCauses, ...impliedCauses(spec, method), ...(spec.errors ?? [])]);
  const codes = new Map<number, Set<string>>();
  for (const cause of causes) {
    for (const form of ["b", "a"] as const satisfies readonly Form[]) {
      const { status, code } = spell(cause, form);
      codes.set(status, (codes.get(status) ?? new Set()).add(form === "b" ? `\`${code}\`` : `\`${code}\` (form A)`));
    }
  }
  return Object.fromEntries(
    [...codes].map(([status, all]) => {
      const shown = [...all].filter((code) => !(code.endsWith("(form A)") && all.has(code.replace(" (form A)", ""))));
      const content = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
      return [String(status), { description: shown.join(", "), content }];
    }),
  );
}

/** A TypeBox schema without what only the checks read. */
function plain(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "errorMessage" ? undefined : value)));
}
