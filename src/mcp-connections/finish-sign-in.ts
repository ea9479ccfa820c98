import { recordAudit } from "../kernel/audit/record.ts";
import type { AuditActor } from "../kernel/auth/actor.ts";
import { holdStanding } from "../kernel/auth/standing.ts";
import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { fixedAuthorization } from "./auth/authorization.ts";
import { browserSecretIn } from "./auth/browser-cookie.ts";
import { callbackUrl } from "./auth/client-document.ts";
import {
  type McpCredentials,
  type OAuthClient,
  openCredentials,
  type StoredTokens,
  sealCredentials,
  sealedTokens,
  shownServer,
} from "./auth/credentials.ts";
import type { AuthorizationServer } from "./auth/discovery.ts";
import { grantForCode } from "./auth/grants.ts";
import { htmlPage } from "./auth/page.ts";
import { connectionOf, failedPage, signInRole } from "./auth/sign-in.ts";
import { consumeFlow } from "./auth/sign-in-store.ts";
import { probeServer } from "./call/probe.ts";
import { signInTimeoutMs } from "./limits.ts";
import { recordSignIn } from "./status.ts";
import type { McpConnectionRow } from "./store.ts";
import { failureOf, McpFailure } from "./wire/failure.ts";
import { oauthFetch } from "./wire/fetches.ts";

/**
 * Finishes a sign-in in the browser in which it began: exchanges the code, probes the MCP server
 * and stores the tokens. Always returns a page.
 */
export async function finishSignIn(ctx: Ctx, request: Request): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const browser = browserSecretIn(request, ctx.publicUrl);
  // Only a person's browser asks for the page itself.
  const isAsked = browser !== null && request.method === "GET";
  const state = query.get("state") ?? "";
  const found = isAsked ? await consumeFlow(ctx.sql, ctx.sealer, { state, browser }) : null;
  const row = found === null ? null : await connectionOf(ctx, found.signIn);
  if (found === null || row === null)
    return htmlPage(
      400,
      "This sign-in is not known",
      "It began in another browser, was finished before, took too long, or the connection changed.",
    );
  const { client, server, codeVerifier } = found.flow;
  const refusal = refusalOf(query, server);
  if (refusal !== null) return htmlPage(400, "The sign-in was not finished", refusal);
  let tokens: StoredTokens;
  try {
    const fetch = oauthFetch(ctx, AbortSignal.timeout(signInTimeoutMs));
    const answer = { code: query.get("code") ?? "", issuer: query.get("iss"), codeVerifier };
    tokens = await grantForCode({ fetch, server, client }, { ...answer, redirectUri: callbackUrl(ctx) });
  } catch (error) {
    return failedPage(ctx, row, failureOf(error));
  }
  return recordTokens(ctx, row, { client, server, startedBy: found.signIn.startedBy }, tokens);
}

/** Returns a sentence that says why there is no code to exchange; null when there is one, from the right server (RFC 9207). */
function refusalOf(query: URLSearchParams, { issuer, metadata }: AuthorizationServer): string | null {
  const answeringIssuer = query.get("iss");
  const mustName = metadata.authorization_response_iss_parameter_supported === true;
  if (answeringIssuer === null ? mustName : answeringIssuer !== issuer)
    return "The answer is from another authorization server.";
  const error = query.get("error");
  if (error !== null) return `The authorization server answered ${/^[a-z_]{1,40}$/.test(error) ? error : "an error"}.`;
  return query.get("code") === null ? "The authorization server sent no code." : null;
}

async function recordTokens(
  ctx: Ctx,
  row: McpConnectionRow,
  signedIn: { readonly client: OAuthClient; readonly server: AuthorizationServer; readonly startedBy: AuditActor },
  tokens: StoredTokens,
): Promise<Response> {
  const { client, server, startedBy: actor } = signedIn;
  const probe = await probeServer(ctx, row.url, fixedAuthorization(tokens.accessToken)).catch(failureOf);
  const failure = probe instanceof McpFailure ? probe : null;
  const before = openCredentials(ctx.sealer, row.id, row.sealedCredentials);
  const credentials: McpCredentials = { ...before, client, server };
  const made = {
    sealedCredentials: sealCredentials(ctx.sealer, row.id, credentials),
    ...sealedTokens(ctx.sealer, row.id, tokens),
    ...shownServer(credentials),
  };
  const { tenantId, id: resourceId } = row;
  const recorded = await tx(ctx.sql, async (inner) => {
    if (!(await holdStanding(inner, tenantId, actor, signInRole))) return false;
    if (!(await recordSignIn(inner, row, made, failure))) return false;
    const event = { tenantId, actor, resourceId, requestId: null, changes: ["status"] };
    await recordAudit(inner, { ...event, action: "mcp_connection.sign_in" });
    return true;
  });
  if (!recorded) return htmlPage(409, "The connection was changed", "It was changed while you signed in. Start again.");
  if (failure !== null) return failedPage(ctx, row, failure);
  return htmlPage(200, "Connected", `${row.name} is connected. You can close this window.`);
}
