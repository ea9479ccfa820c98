import { timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";
import type { Ctx } from "../context.ts";
import { ApiError } from "../errors.ts";
import { QueueGauges } from "../queue/gauges.ts";
import { digest } from "../seal.ts";
import { measureProcess, registry } from "../telemetry/metrics.ts";

/** `/metrics`, in Prometheus' text (docs/watching.md). With `METRICS_TOKEN` it takes that bearer and no other credential. */
export function metricsRoutes(ctx: Ctx) {
  measureProcess();
  const gauges = new QueueGauges(ctx.sql, { tellTenants: ctx.config.metricsToken !== null });
  return new Elysia().get("/metrics", async ({ request }) => {
    if (!mayScrape(ctx.config.metricsToken, request))
      throw new ApiError("unauthorized", { message: "Send the operator's METRICS_TOKEN as the bearer." });
    const queue = await gauges.text();
    return new Response((await registry.metrics()) + queue, { headers: { "Content-Type": registry.contentType } });
  });
}

/** Returns whether a request may read `/metrics`. */
export function mayScrape(token: string | null, request: Request): boolean {
  if (token === null) return true;
  const given = request.headers.get("authorization") ?? "";
  // Digests have one length, whatever was sent.
  return timingSafeEqual(digest(given), digest(`Bearer ${token}`));
}
