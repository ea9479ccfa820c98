import { Elysia } from "elysia";
import { within } from "../async/wait.ts";
import type { Ctx } from "../context.ts";
import { readinessTimeoutMs } from "../limits.ts";

/** `/healthz`: the process lives. `/readyz`: each service that it depends on, by name, and whether it is reachable. */
export function healthRoutes(ctx: Ctx) {
  return new Elysia()
    .get("/healthz", () => Response.json({ status: "ok" }))
    .get("/readyz", async () => {
      const [database, relay] = await Promise.all([probe(() => ctx.sql`select 1`), probe(() => ctx.relay.ping())]);
      const ready = database === "ok" && relay === "ok";
      return Response.json(
        { status: ready ? "ok" : "unavailable", dependencies: { database, relay } },
        { status: ready ? 200 : 503 },
      );
    });
}

async function probe(ask: () => PromiseLike<unknown>): Promise<"ok" | "unavailable"> {
  const result = Promise.resolve(ask()).then(
    () => "ok" as const,
    () => "unavailable" as const,
  );
  return await within(result, readinessTimeoutMs, () => "unavailable" as const);
}
