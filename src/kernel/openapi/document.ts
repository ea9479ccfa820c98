import { GiveWay } from "../async/give-way.ts";
import { queryTokenField } from "../http/query-token.ts";
import { version } from "../version.ts";
import { Components } from "./components.ts";
import { describeOperation, type MountedOperation } from "./describe-operation.ts";
import { errorSchema } from "./errors.ts";
import { tagOf, tags } from "./tags.ts";

const description = `A multi-tenant agent runtime: agents, sessions and turns over HTTP.

**Credentials.** Every request names who asks: \`Authorization: Bearer …\` with an API key of the tenant. A key opens the whole
tenant, so it stays on a server; \`POST /v1/apikeys\` makes another one. A page without a back end gets a client token from
\`POST /v1/client-tokens\`, which is good for one end user of one agent. What is wrong or missing is 401 \`unauthorized\`.

**Errors.** Every error has one envelope, the schema \`ErrorResponse\`. Beside the errors that an operation lists, each may respond
400 for a field that breaks a rule, 401, 402, 429, 500 and 503, and those that no client token is good for, 403.

**Repeats.** A \`POST\` with the header \`Idempotency-Key\`, a text of the caller's, is safe to send again: the repeat gets the first
response.

**Lists.** A list that can grow without bound is paged: it takes \`cursor\` and \`limit\`, and its response holds
\`nextCursor\`, which is null on the last page. Its rows stand under \`data\`, for merchant billing under the noun. A list
that a limit keeps short comes whole, under the noun; where it takes \`cursor\` and \`limit\`, it comes in pages for those who
give either.

**Streams.** A turn is streamed as \`text/event-stream\`: UI message chunks of the AI SDK, one in each event, and
\`[DONE]\` at the end.

**Forms.** The interface exists in two spellings of the same resources: form B, which is the default and the one for new
clients, and form A, the earlier one. Names of some fields, codes of errors and a few rules differ (a workspace of form B is a
sandbox in form A); what is made in one form is readable in the other. The header \`API-Form: a\` or \`API-Form: b\` chooses
one for a request; without it the tenant's default holds, which is B unless the operator set it. Every response names its form
in the same header. Fields and paths are shown here in form B; where form A differs, the media type
\`application/json; form=a\` describes it. Each error lists its code in form B and, where it differs, in form A. All
differences are in \`docs/forms.md\` of the source.`;

/** The OpenAPI 3.1 document of the mounted operations, in form B, with form A's bodies and spelling of each error beside it. */
export async function openApiDocument(operations: readonly MountedOperation[], publicUrl: string): Promise<object> {
  const components = new Components();
  const paths: Record<string, Record<string, object>> = {};
  // When it is made first, it takes 0.1 s.
  const way = new GiveWay();
  for (const operation of operations) {
    const path = operation.path.replace(/:([A-Za-z]+)/g, "{$1}").replace(/(.)\/$/, "$1");
    const described = { tags: [tagOf(operation.spec.id)], ...describeOperation(operation, components) };
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described };
    await way.next();
  }
  const error = components.describe(errorSchema);
  if (!("$ref" in error)) throw new Error("The error envelope has lost its name.");
  return {
    openapi: "3.1.0",
    info: {
      title: "Parley",
      version,
      description,
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "The operator of this installation", url: publicUrl },
    },
    servers: [{ url: publicUrl, description: "This installation" }],
    security: [{ bearer: [] }],
    tags,
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An API key (`POST /v1/apikeys`), or a dashboard JWT where the operator set one up.",
        },
        clientToken: {
          type: "http",
          scheme: "bearer",
          description:
            "A token for one end user of one agent (`POST /v1/client-tokens`), for pages without a back end.",
        },
        clientTokenInQuery: {
          type: "apiKey",
          in: "query",
          name: queryTokenField,
          description: "The same for a browser's own `EventSource`, which cannot send headers.",
        },
      },
      schemas: components.schemas,
    },
  };
}
