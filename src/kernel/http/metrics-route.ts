import { timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";
import { within } from "../async/wait.ts";
import type { Ctx } from "../context.ts";
import { isUnavailable, unavailable } from "../database/failure.ts";
import { ApiError } from "../errors.ts";
import { readinessWaitMs } from "../limits.ts";
import { readBacklog } from "../queue/backlog.ts";
import { QueueGauges } from "../queue/gauges.ts";
import { digest } from "../seal.ts";
import { measureProcess, registry, relayUp } from "../telemetry/metrics.ts";

/** `/metrics`, in Prometheus' text, and `/backlog`, one number to scale on (docs/watching.md). With `METRICS_TOKEN` they take that bearer and no other credential. */
export function metricsRoutes(ctx: Ctx) {
  measureProcess();
  const gauges = new QueueGauges(ctx.sql, { tellTenants: ctx.config.metricsToken !== null });
  const check = (request: Request) => {
    if (!mayScrape(ctx.config.metricsToken, request))
      throw new ApiError("unauthorized", { message: "Send the operator's METRICS_TOKEN as the bearer." });
  };
  return new Elysia()
    .get("/metrics", async ({ request }) => {
      check(request);
      const [queue, isThere] = await Promise.all([gauges.text(), reachesRelay(ctx)]);
      relayUp.set(isThere ? 1 : 0);
      return new Response((await registry.metrics()) + queue, { headers: { "Content-Type": registry.contentType } });
    })
    .get("/backlog", async ({ request }) => {
      check(request);
      try {
        return Response.json(await readBacklog(ctx.sql, ctx.config.workerConcurrency));
      } catch (error) {
        throw isUnavailable(error) ? unavailable() : error;
      }
    });
}

function reachesRelay({ relay }: Ctx): Promise<boolean> {
  const asked = relay.ping().then(
    () => true,
    () => false,
  );
  return within(asked, readinessWaitMs, () => false);
}

/** Returns whether a request may read `/metrics`. */
export function mayScrape(token: string | null, request: Request): boolean {
  if (token === null) return true;
  const given = request.headers.get("authorization") ?? "";
  // Digests have one length, whatever was sent.
  return timingSafeEqual(digest(given), digest(`Bearer ${token}`));
}
