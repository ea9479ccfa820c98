import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Elysia } from "elysia";
import type { Ctx } from "../context.ts";
import type { MountedOperation } from "./describe-operation.ts";
import { openApiDocument } from "./document.ts";

/** Files of the documentation browser that the page needs, with their media types. */
const assets: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>`;

const startScript = `SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#docs", deepLinking: true, docExpansion: "list", validatorUrl: null,
});
`;

/** What the page may load and call: this service only. The browser of the documentation sets styles by script. */
function pageHeaders(publicUrl: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy.join("; "),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
  };
}

/** `/openapi.json` and `/docs`, from files of this installation only, and `/`, which leads to the console or, where that is off, to `/docs`. */
export function docsRoutes(ctx: Ctx, operations: () => readonly MountedOperation[]) {
  let document: string | null = null;
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  return new Elysia()
    .get("/openapi.json", () => {
      document ??= JSON.stringify(openApiDocument(operations(), ctx.publicUrl));
      return new Response(document, {
        headers: { "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" },
      });
    })
    .get(
      "/",
      () => new Response(null, { status: 307, headers: { Location: ctx.config.console ? "/console" : "/docs" } }),
    )
    .get("/docs", () => new Response(page, { headers: pageHeaders(ctx.publicUrl) }))
    .get("/docs/start.js", () => new Response(startScript, { headers: assetHeaders("text/javascript; charset=utf-8") }))
    .get("/docs/:asset", async ({ params, status }) => {
      const mediaType = Object.hasOwn(assets, params.asset) ? assets[params.asset] : undefined;
      if (mediaType === undefined) return status(404);
      const bytes = await readFile(join(folder, params.asset));
      return new Response(new Uint8Array(bytes), { headers: assetHeaders(mediaType) });
    });
}

function assetHeaders(mediaType: string): Record<string, string> {
  return { "Content-Type": mediaType, "Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff" };
}
