import { Elysia } from "elysia";
import { within } from "../async/wait.ts";
import type { Ctx } from "../context.ts";
import { readinessTimeoutMs } from "../limits.ts";

/**
 * `/healthz`: the process lives. `/readyz`: each service that it depends on, by name, and whether
 * it is reachable. Without the relay turns go on and lose their live text only, so that is no
 * reason to send requests elsewhere.
 */
export function healthRoutes(ctx: Ctx) {
  return new Elysia()
    .get("/healthz", () => Response.json({ status: "ok" }))
    .get("/readyz", async () => {
      const [database, relay] = await Promise.all([probe(() => ctx.probeSql`select 1`), probe(() => ctx.relay.ping())]);
      const status = database === "ok" && relay === "ok" ? "ready" : "degraded";
      return Response.json({ status, checks: { database, relay } }, { status: database === "ok" ? 200 : 503 });
    });
}

async function probe(ask: () => PromiseLike<unknown>): Promise<"ok" | "unavailable"> {
  const result = Promise.resolve(ask()).then(
    () => "ok" as const,
    () => "unavailable" as const,
  );
  return await within(result, readinessTimeoutMs, () => "unavailable" as const);
}
