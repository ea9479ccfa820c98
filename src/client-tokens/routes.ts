import { Elysia } from "elysia";
import { ChangesAtOnce } from "../kernel/admission/changes-at-once.ts";
import { clientTokenRole } from "../kernel/auth/authenticator.ts";
import type { Ctx } from "../kernel/context.ts";
import { invalidAll } from "../kernel/errors.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { ClientTokenCreatedResponse } from "./responses.ts";
import { abilitiesDefault, ClientTokenCreate, tokenSecondsDefault } from "./schema.ts";
import { createClientToken, deleteClientToken } from "./store.ts";

/** Client tokens: `/v1/client-tokens`. */
export function clientTokenRoutes(ctx: Ctx) {
  const changes = new ChangesAtOnce("client tokens");
  return new Elysia({ prefix: "/v1/client-tokens" })
    .post(
      "",
      operation(ctx, {
        id: "clientTokens.create",
        role: clientTokenRole,
        audit: "client_token.create",
        summary: "Create a token for a page of one end user",
        description:
          "The token is good for the turns, streams, transcripts, approvals and client tools of `userId` with `agentId`, or of the one session `sessionId`, and for nothing else. `can` says whether it decides approvals, answers calls of client tools and forks sessions; left out, it does all but fork. Browsers may use it on pages of `origins`. It ends with the API key that made it.",
        body: ClientTokenCreate,
        success: 201,
        response: ClientTokenCreatedResponse,
        errors: ["not_found", "invalid_request"],
        handle: async ({ commit, tenantId, principal, body }) => {
          const { agentId, userId, sessionId = null, expiresInSeconds = tokenSecondsDefault } = body;
          const { can = abilitiesDefault, origins = [] } = body;
          checkOrigins(origins);
          const { keyId, memberId } = principal;
          const sets = { can: [...new Set(can)], origins: [...new Set(origins)] };
          const asked = { tenantId, keyId, memberId, agentId, userId, sessionId, expiresInSeconds, ...sets };
          return changes.run(tenantId, () => commit((inner) => createClientToken(inner, asked)));
        },
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "clientTokens.delete",
        role: "runner",
        audit: "client_token.delete",
        summary: "Delete a client token",
        params: pathIds({ id: Id("clientToken") }),
        success: 204,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params }) => commit((inner) => deleteClientToken(inner, tenantId, params.id)),
      }),
    );
}

/** Throws 400 naming each origin that is not spelt as browsers send it. */
function checkOrigins(origins: readonly string[]): void {
  const broken = origins.flatMap((origin, index) => (isOrigin(origin) ? [] : [index]));
  if (broken.length === 0) return;
  const message =
    "must be an origin as a browser sends it, such as https://app.example.com: http or https, host and port";
  throw invalidAll(broken.map((index) => ({ path: `/origins/${index}`, message })));
}

/** A URL takes more in a host than names have, such as `*`. */
const originPattern = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:]+\])(?::\d+)?$/;

function isOrigin(text: string): boolean {
  return originPattern.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
