import { Type } from "@sinclair/typebox";
import { leastRole } from "../auth/roles.ts";
import { defaultMessage, type ErrorCause, type Form, rateLimitHeaders, spell } from "../errors.ts";
import { component, example } from "../http/component.ts";
import { type AnyOperation, keyErrors } from "../http/operation.ts";
import { describeHeaders } from "../http/response-headers.ts";
import type { Components } from "./components.ts";

const exampleRequestId = "req_0mk7q2v5c8d1f4h6j9n3p0rt";

/** The envelope of every error. */
export const errorSchema = component(
  "ErrorResponse",
  Type.Object({
    error: Type.Object({
      code: example(Type.String({ description: "What went wrong, for programs." }), "validation_failed"),
      message: example(Type.String({ description: "What went wrong, for people." }), "/name: is required"),
      type: Type.Optional(
        Type.String({ description: "The kind of error, where the operation speaks the Open Responses protocol." }),
      ),
      param: Type.Optional(
        Type.Union([Type.String(), Type.Null()], { description: "The field that it is about, where the same." }),
      ),
      details: Type.Optional(
        example(
          Type.Object({
            role: Type.Optional(Type.String({ description: "The role of who asked, where it may not do this." })),
            needs: Type.Optional(Type.String({ description: "The least role that may." })),
            issues: Type.Optional(
              Type.Array(
                Type.Object({
                  path: Type.String({ description: "A JSON pointer into the body, or the name of a field." }),
                  message: Type.String(),
                }),
              ),
            ),
          }),
          { issues: [{ path: "/name", message: "is required" }] },
        ),
      ),
      requestId: example(Type.String({ description: "The response's X-Request-Id." }), exampleRequestId),
    }),
  }),
);

/** What every operation may respond with. */
const sharedCauses: readonly ErrorCause[] = [
  // A header that is not valid is so everywhere, whatever an operation calls its broken fields.
  "validation_failed",
  "unauthorized",
  "subscription_required",
  "rate_limited",
  "internal",
  "service_unavailable",
];

/** Causes that follow from what the operation takes, and in which form. */
function impliedCauses(
  { role, body, idempotency, onlyForm, invalidAs, clientTokens, stores }: AnyOperation,
  method: string,
): readonly ErrorCause[] {
  return [
    ...(role === leastRole ? [] : (["forbidden"] as const)),
    ...(invalidAs === undefined ? [] : [invalidAs]),
    ...(clientTokens === undefined ? (["client_token_refused"] as const) : []),
    ...(onlyForm === undefined ? [] : (["not_found"] as const)),
    ...(body === undefined || body === "raw" ? [] : (["payload_too_large"] as const)),
    ...(stores === undefined ? [] : (["quota_exceeded"] as const)),
    ...(body === undefined ? [] : (["content_encoding_unsupported"] as const)),
    ...(method === "POST" && idempotency !== "own" ? keyErrors : []),
  ];
}

/** The error responses of an operation by status; several causes may share one. */
export function describeErrors(spec: AnyOperation, method: string, components: Components): Record<string, object> {
  const causes = new Set<ErrorCause>([...sharedCauses, ...impliedCauses(spec, method), ...(spec.errors ?? [])]);
  const byStatus = new Map<number, { codes: Set<string>; example: object }>();
  for (const cause of causes) {
    for (const form of ["b", "a"] as const satisfies readonly Form[]) {
      const { status, code } = spell(cause, form);
      const known = byStatus.get(status) ?? { codes: new Set(), example: exampleError(code, cause) };
      known.codes.add(form === "b" ? `\`${code}\`` : `\`${code}\` (form A)`);
      byStatus.set(status, known);
    }
  }
  const schema = components.describe(errorSchema);
  return Object.fromEntries(
    [...byStatus].map(([status, { codes, example: error }]) => {
      const shown = [...codes].filter(
        (code) => !(code.endsWith("(form A)") && codes.has(code.replace(" (form A)", ""))),
      );
      const content = { "application/json": { schema, example: error } };
      const told =
        status === 429 || status === 503
          ? { headers: describeHeaders(status === 429 ? limitNames : ["Retry-After"]) }
          : {};
      return [String(status), { description: shown.join(", "), ...told, content }];
    }),
  );
}

/** The headers of a 429. */
const limitNames = ["Retry-After", ...Object.values(rateLimitHeaders)] as const;

function exampleError(code: string, cause: ErrorCause): object {
  return { error: { code, message: defaultMessage(cause), requestId: exampleRequestId } };
}
