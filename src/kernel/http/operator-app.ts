import { Elysia, NotFoundError } from "elysia";
import type { Ctx } from "../context.ts";
import { ApiError } from "../errors.ts";
import { envelope } from "./error-envelope.ts";
import { healthRoutes } from "./health.ts";
import { logRequest } from "./log-request.ts";
import { metricsRoutes } from "./metrics-route.ts";
import { rememberRoute } from "./request.ts";

/** Returns what a worker process serves over HTTP: its health and metrics, and no data of any tenant. */
export function createOperatorApp(ctx: Ctx): (request: Request) => Promise<Response> {
  const elysia = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request }) => {
      if (error instanceof ApiError) return envelope(request, error);
      if (error instanceof NotFoundError) return envelope(request, new ApiError("not_found"));
      ctx.log.error({ err: error }, "unforeseen error");
      return envelope(request, new ApiError("internal"));
    })
    .onTransform(({ request, route }) => rememberRoute(request, route))
    .use(healthRoutes(ctx))
    .use(metricsRoutes(ctx));
  return async (request) => {
    const startedAtMs = performance.now();
    const response = await elysia.handle(request);
    logRequest(ctx.log, { request, status: response.status, tenantId: null, startedAtMs });
    return response;
  };
}
