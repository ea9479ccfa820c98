import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { fixedAuthorization } from "./auth/authorization.ts";
import {
  credentialFragment,
  type McpCredentials,
  readCredentials,
  type StoredTokens,
  sealCredentials,
  sealedTokens,
  shownServer,
} from "./auth/credentials.ts";
import { discoverAuthorizationServer } from "./auth/discovery.ts";
import { grantToClient } from "./auth/grants.ts";
import { probeServer } from "./call/probe.ts";
import type { LeftOutTool } from "./call/tool-list.ts";
import { validateTimeoutMs } from "./limits.ts";
import type { TargetFields } from "./schema.ts";
import type { ValidatedTarget } from "./store.ts";
import { failureOf, type McpFailure } from "./wire/failure.ts";
import { oauthFetch } from "./wire/fetches.ts";

/** A target whose servers were asked, and the tools that it has and that cannot be used. */
export interface CheckedTarget {
  readonly made: ValidatedTarget;
  readonly leftOut: readonly LeftOutTool[];
}

/**
 * Validates a target by requests to its servers and returns the row's content. The
 * server of a connection that waits for a sign-in is not contacted. Throws 400 for
 * invalid fields and for a failure of the server.
 */
export async function validateTarget(
  ctx: Ctx,
  id: IdOf<"mcpConnection">,
  fields: TargetFields,
): Promise<CheckedTarget> {
  const given = readCredentials(fields, ctx.config.allowPrivateNetwork);
  const { credentials, tokens, leftOut } = await obtain(ctx, fields, given).catch((error: unknown) => {
    throw asApiError(failureOf(error));
  });
  const made: ValidatedTarget = {
    url: fields.url,
    authType: fields.authType,
    status: fields.authType === "oauth_authorization_code" ? "needs_auth" : "connected",
    sealedCredentials: fields.authType === "none" ? null : sealCredentials(ctx.sealer, id, credentials),
    credentialFragment: credentialFragment(credentials),
    ...sealedTokens(ctx.sealer, id, tokens),
    ...shownServer(credentials),
  };
  return { made, leftOut };
}

interface Obtained {
  readonly credentials: McpCredentials;
  readonly tokens: StoredTokens | null;
  readonly leftOut: readonly LeftOutTool[];
}

async function obtain(ctx: Ctx, { url, authType }: TargetFields, given: McpCredentials): Promise<Obtained> {
  if (authType === "oauth_authorization_code") return { credentials: given, tokens: null, leftOut: [] };
  const signal = AbortSignal.timeout(validateTimeoutMs);
  if (authType !== "oauth_client_credentials" || given.client === null) {
    const { list } = await probeServer(ctx, url, fixedAuthorization(given.bearerToken), signal);
    return { credentials: given, tokens: null, leftOut: list.leftOut };
  }
  const fetch = oauthFetch(ctx, signal);
  const server = await discoverAuthorizationServer(fetch, url);
  const tokens = await grantToClient({ fetch, server, client: given.client }, given.scope);
  const { list } = await probeServer(ctx, url, fixedAuthorization(tokens.accessToken), signal);
  return { credentials: { ...given, server }, tokens, leftOut: list.leftOut };
}

/** Returns the 400 of create and reconnect that tells of a failure. */
function asApiError(failure: McpFailure): ApiError {
  return new ApiError(failure.code, { message: failure.message });
}
