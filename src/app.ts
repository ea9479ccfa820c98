import { Elysia, NotFoundError } from "elysia";
import { agentRoutes } from "./agents/routes.ts";
import { apiKeyRoutes } from "./apikeys/routes.ts";
import { auditRoutes } from "./audit/routes.ts";
import { budgetRoutes } from "./budgets/routes.ts";
import { chatRoutes } from "./chat/routes.ts";
import { chatWebhookRoutes } from "./chat/webhook-routes.ts";
import { clientTokenRoutes } from "./client-tokens/routes.ts";
import { consoleRoutes } from "./console-server/routes.ts";
import { docsRoutes } from "./docs-site/routes.ts";
import { sleep } from "./kernel/async/wait.ts";
import type { Ctx } from "./kernel/context.ts";
import { isTransient, isUnavailable, unavailable } from "./kernel/database/failure.ts";
import { ApiError } from "./kernel/errors.ts";
import { allowedMethods, literalsBeside } from "./kernel/http/allowed-methods.ts";
import { allowOrigin, isPreflight, respondToPreflight } from "./kernel/http/cross-origin.ts";
import { envelope } from "./kernel/http/error-envelope.ts";
import { askedForm } from "./kernel/http/form.ts";
import { healthRoutes } from "./kernel/http/health.ts";
import { addressed } from "./kernel/http/host-header.ts";
import { logRequest } from "./kernel/http/log-request.ts";
import { metricsRoutes } from "./kernel/http/metrics-route.ts";
import { observeRequest } from "./kernel/http/observe-request.ts";
import type { OperationHandler } from "./kernel/http/operation.ts";
import { takeQueryToken } from "./kernel/http/query-token.ts";
import { formOf, isProbe, rememberForm, rememberRoute, requestIdOf, waitsUntil } from "./kernel/http/request.ts";
import { streamHeaders } from "./kernel/http/sse.ts";
import type { MountedOperation } from "./kernel/openapi/describe-operation.ts";
import { documentRoute } from "./kernel/openapi/document-route.ts";
import { mcpConnectionRoutes } from "./mcp-connections/routes.ts";
import { memberRoutes } from "./members/routes.ts";
import { memoryRoutes } from "./memories/routes.ts";
import { merchantEventRoutes } from "./merchant/event-routes.ts";
import { merchantRoutes } from "./merchant/routes.ts";
import { modelPriceRoutes } from "./prices/routes.ts";
import { promptRoutes } from "./prompts/routes.ts";
import { providerRoutes } from "./providers/routes.ts";
import { responseRoutes } from "./responses/routes.ts";
import { TurnWatch } from "./sessions/follow/watch.ts";
import { sessionRoutes } from "./sessions/routes/routes.ts";
import { libraryRoutes } from "./skills/library-routes.ts";
import { skillRoutes } from "./skills/routes.ts";
import { taskRoutes } from "./tasks/routes.ts";
import { usageRoutes } from "./usage/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { workspaceRoutes } from "./workspaces/routes.ts";

/** The HTTP tier as one function from request to response. */
export type App = (request: Request) => Promise<Response>;

/** Returns the HTTP tier: the slices' routes, and around them what every response has: request id, form, and errors in the envelope. */
export function createApp(ctx: Ctx): App {
  const respondUnrouted = (request: Request) => unrouted(ctx, request, methodsOf(new URL(request.url).pathname));
  const transient = new WeakSet<Response>();
  // Elysia would take part of the path for the host when a host has fewer than four characters, as in `http://api/`.
  const elysia = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request }) => {
      if (error instanceof NotFoundError) return respondUnrouted(request);
      const response = failed(ctx, request, error);
      if (isTransient(error)) transient.add(response);
      return response;
    })
    .onTransform(({ request, route, path }) => {
      rememberRoute(request, route);
      if (literalsOf.get(route)?.has(path.slice(path.lastIndexOf("/") + 1))) throw new NotFoundError();
    })
    .use(healthRoutes(ctx))
    .use(metricsRoutes(ctx))
    .use(documentRoute(ctx, () => operations))
    .use(docsRoutes(ctx, () => operations))
    .use(consoleRoutes(ctx, respond))
    .use(sliceRoutes(ctx));
  const operations = mountedOperations(elysia.routes);
  const methodsOf = allowedMethods(elysia.routes);
  const literalsOf = literalsBeside(elysia.routes);

  /** A read that met a restarting database is done again: a short outage is not an error. */
  async function respond(request: Request): Promise<Response> {
    const expiresAt = waitsUntil(request);
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      const response = labelled(request, await elysia.handle(request));
      if (request.method !== "GET" || !transient.has(response) || Date.now() + pauseMs > expiresAt) return response;
      await sleep(pauseMs);
    }
  }

  return async (sent) => {
    const startedAtMs = performance.now();
    let request = sent;
    let response: Response;
    try {
      request = takeQueryToken(addressed(sent));
      response = await observeRequest(request, () => inSlot(ctx, request, respond));
    } catch (error) {
      response = refused(ctx, request, error);
    }
    await allowOrigin(ctx, request, response);
    const tenantId = ctx.slots.tenantOf(request);
    logRequest(ctx.log, { request, status: response.status, tenantId, startedAtMs });
    return response;
  };
}

/** Responds to a request while it counts as in flight, and to a stream's until that ends. */
async function inSlot(ctx: Ctx, request: Request, respond: (request: Request) => Promise<Response>): Promise<Response> {
  if (isProbe(request)) return respond(request);
  let isStream = false;
  try {
    await ctx.slots.begin(request);
    const response = await respond(request);
    isStream = response.headers.get("content-type") === streamHeaders["Content-Type"];
    return response;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    rememberForm(request, askedForm(request) ?? ctx.slots.formOf(request) ?? "b");
    return labelled(request, envelope(request, error));
  } finally {
    ctx.slots.leave(request);
    if (!isStream) ctx.slots.endStream(request);
  }
}

/** The last resort: for what is thrown past here, the runtime's server would send a response in its own form. */
function refused(ctx: Ctx, request: Request, error: unknown): Response {
  if (error instanceof ApiError) return labelled(request, envelope(request, error));
  ctx.log.error({ requestId: requestIdOf(request), err: error }, "unforeseen error outside the routes");
  return labelled(request, envelope(request, new ApiError("internal")));
}

/** The operations of every slice. */
function sliceRoutes(ctx: Ctx) {
  const streams = { ctx, watch: new TurnWatch(ctx) };
  return new Elysia({ normalize: false })
    .use(agentRoutes(ctx))
    .use(apiKeyRoutes(ctx))
    .use(auditRoutes(ctx))
    .use(budgetRoutes(ctx))
    .use(chatRoutes(ctx))
    .use(chatWebhookRoutes(ctx))
    .use(clientTokenRoutes(ctx))
    .use(memberRoutes(ctx))
    .use(memoryRoutes(ctx))
    .use(mcpConnectionRoutes(ctx))
    .use(merchantRoutes(ctx))
    .use(merchantEventRoutes(ctx))
    .use(promptRoutes(ctx))
    .use(providerRoutes(ctx))
    .use(responseRoutes(streams))
    .use(sessionRoutes(streams))
    .use(skillRoutes(ctx))
    .use(libraryRoutes(ctx))
    .use(taskRoutes(ctx))
    .use(usageRoutes(ctx))
    .use(modelPriceRoutes(ctx))
    .use(webhookRoutes(ctx))
    .use(workspaceRoutes(ctx));
}

/** Returns the error of a path or method that no operation has, in the form that an operation would choose. */
async function unrouted(ctx: Ctx, request: Request, allow: readonly string[]): Promise<Response> {
  try {
    const { headers } = request;
    const granted = isPreflight(request) && allow.length > 0 ? await respondToPreflight(ctx, request, allow) : null;
    if (granted !== null) return granted;
    // For every caller, nothing is here: a credential tells only which form to say it in.
    const principal = () => ctx.authenticator.authenticate(headers.get("authorization")).catch(() => null);
    rememberForm(request, askedForm(request) ?? (await principal())?.tenant.form ?? "b");
  } catch (error) {
    return failed(ctx, request, error);
  }
  if (allow.length === 0)
    return envelope(
      request,
      new ApiError("not_found", { message: "There is no such path. /docs shows all that there are." }),
    );
  return envelope(request, new ApiError("method_not_allowed", { headers: { Allow: allow.join(", ") } }));
}

/** Returns the response to a request whose operation threw an error. */
function failed({ log }: Ctx, request: Request, error: unknown): Response {
  if (error instanceof ApiError) return envelope(request, error);
  const requestId = requestIdOf(request);
  if (isUnavailable(error)) {
    log.warn({ requestId, err: error }, "the database cannot answer");
    return envelope(request, unavailable());
  }
  const { pathname: path } = new URL(request.url);
  // The caller has hung up, and what was done for it has ended with that reason.
  if (request.signal.aborted && error === request.signal.reason)
    log.debug({ requestId, method: request.method, path }, "the caller has gone");
  else log.error({ requestId, method: request.method, path, err: error }, "unforeseen error");
  return envelope(request, new ApiError("internal"));
}

/** A response with the headers that every response has. */
function labelled(request: Request, response: Response): Response {
  response.headers.set("X-Request-Id", requestIdOf(request));
  response.headers.set("API-Form", formOf(request));
  return response;
}

/** The operations among the routes; the others (health, documentation, pictures) are not part of the contract. */
function mountedOperations(routes: readonly { method: string; path: string; handler: unknown }[]): MountedOperation[] {
  return routes.flatMap(({ method, path, handler }) => {
    const spec = (handler as Partial<OperationHandler>).spec;
    return spec === undefined ? [] : [{ method, path, spec }];
  });
}
