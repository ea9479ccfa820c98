import type { TObject } from "@sinclair/typebox";
import type { AnyOperation, ResponseBody } from "../http/operation.ts";
import { describeHeaders } from "../http/response-headers.ts";
import type { Components } from "./components.ts";
import { describeErrors } from "./errors.ts";
import { exampleOf } from "./example.ts";

/** A mounted operation. */
export interface MountedOperation {
  readonly method: string;
  /** Elysia's spelling: `/v1/agents/:agentId`. */
  readonly path: string;
  readonly spec: AnyOperation;
}

/** An operation as the document has it, without its tag. */
export function describeOperation({ method, spec }: MountedOperation, components: Components): object {
  const parameters = [
    ...fieldsOf("path", spec.params, components),
    ...fieldsOf("query", spec.query, components),
    formParameter,
    ...(method === "POST" ? [keyParameter] : []),
  ];
  return {
    operationId: spec.id,
    summary: spec.summary,
    description: descriptionOf(spec),
    "x-role": spec.role,
    ...credentialsOf(spec),
    parameters,
    ...describeRequestBody(spec, components),
    responses: { ...describeSuccesses(spec, components), ...describeErrors(spec, method, components) },
  };
}

function descriptionOf({ summary, description, onlyForm }: AnyOperation): string {
  const form =
    onlyForm === undefined ? [] : [`Only in form ${onlyForm.toUpperCase()}; 404 \`not_found\` in the other.`];
  return [description ?? `${summary}.`, ...form].join("\n\n");
}

/** The credentials that an operation takes, where they are not those that every one takes. */
function credentialsOf({ clientTokens, queryToken }: AnyOperation): object {
  if (clientTokens === undefined) return {};
  const inQuery = queryToken === true ? [{ clientTokenInQuery: [] }] : [];
  return { security: [{ bearer: [] }, { clientToken: [] }, ...inQuery] };
}

const formParameter = {
  name: "API-Form",
  in: "header",
  required: false,
  description: "The form of the request and its response; the tenant's default where it is left out.",
  schema: { type: "string", enum: ["a", "b"] },
};
const keyParameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "A text of the caller's. A repeat of the request with the same key gets the first response again.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

function fieldsOf(place: "path" | "query", schema: TObject | undefined, components: Components): object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => {
    const { description, ...shape } = components.describe(field);
    return {
      name,
      in: place,
      required: place === "path" || (schema?.required?.includes(name) ?? false),
      ...(description === undefined ? {} : { description }),
      schema: shape,
    };
  });
}

function describeRequestBody(spec: AnyOperation, components: Components): object {
  const { body, bodyInA, shownInA = bodyInA, rawBody = {} } = spec;
  if (body === undefined) return {};
  if (body === "raw") {
    const all = Object.entries(rawBody).map(([type, shape]) => [type, bodyContent(shape, components)]);
    return { requestBody: { required: true, content: Object.fromEntries(all) } };
  }
  const content = {
    "application/json": bodyContent(body, components),
    ...(shownInA === undefined ? {} : { "application/json; form=a": bodyContent(shownInA, components) }),
  };
  // An empty body is read as an object without fields.
  const required = (body.required ?? []).length > 0 || body.minProperties !== undefined;
  return { requestBody: { required, content } };
}

/** Successes by status, each with what it may hold. */
function describeSuccesses(spec: AnyOperation, components: Components): Record<string, object> {
  const { success, response, responseInA, otherwise = {}, headers = [] } = spec;
  const usual: readonly ResponseBody[] = response === undefined ? [] : isList(response) ? response : [response];
  const all = Object.entries({ ...otherwise, [success]: null }).map(([status, body]) => {
    const bodies = Number(status) === success ? usual : body === null || body === undefined ? [] : [body];
    if (bodies.length === 0) return [status, { description: "Done; no body." }];
    const content = Object.assign({}, ...bodies.map((one) => contentOf(one, components)));
    const inA = responseInA === undefined ? {} : { "application/json; form=a": bodyContent(responseInA, components) };
    const told = headers.length === 0 ? {} : { headers: describeHeaders(headers) };
    return [status, { description: "Done.", ...told, content: { ...content, ...inA } }];
  });
  return Object.fromEntries(all);
}

function isList(response: ResponseBody | readonly ResponseBody[]): response is readonly ResponseBody[] {
  return Array.isArray(response);
}

function contentOf(body: ResponseBody, components: Components): object {
  if (body === "bytes") return { "application/octet-stream": bodyContent("bytes", components) };
  if (typeof body === "object" && body.contentMediaType === "text/event-stream")
    return { "text/event-stream": bodyContent(body, components) };
  return { "application/json": bodyContent(body, components) };
}

function bodyContent(body: ResponseBody, components: Components): object {
  // OpenAPI 3.1 describes bytes that are the whole body by a schema that says nothing.
  if (body === "bytes") return { schema: {} };
  return { schema: components.describe(body), example: exampleOf(body) };
}
