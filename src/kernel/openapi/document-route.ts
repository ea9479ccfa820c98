import { Elysia } from "elysia";
import type { Ctx } from "../context.ts";
import { KeptText } from "../http/encoding.ts";
import type { MountedOperation } from "./describe-operation.ts";
import { openApiDocument } from "./document.ts";

/** `/openapi.json`, made when it is first asked for. */
export function documentRoute(ctx: Ctx, operations: () => readonly MountedOperation[]) {
  const headers = {
    "Content-Type": "application/json",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
  };
  const document = new KeptText(
    async () => JSON.stringify(await openApiDocument(operations(), ctx.publicUrl)),
    headers,
  );
  return new Elysia().get("/openapi.json", ({ request }) => document.respond(request));
}
