import { Elysia } from "elysia";
import type { Ctx } from "../context.ts";
import { readinessTimeoutMs } from "../limits.ts";

/** `/healthz`: the process lives. `/readyz`: whether what it depends on responds, each by name. */
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<"unavailable">((resolve) => {
    timer = setTimeout(() => resolve("unavailable"), readinessTimeoutMs);
  });
  const reached = Promise.resolve(ask()).then(
    () => "ok" as const,
    () => "unavailable" as const,
  );
  try {
    return await Promise.race([reached, limit]);
  } finally {
    clearTimeout(timer);
  }
}
