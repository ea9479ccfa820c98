import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { KeptText } from "../kernel/http/encoding.ts";
import { pageSecurity } from "../kernel/http/page-security.ts";
import { StaticFiles, unbuilt } from "../kernel/http/static-files.ts";
import type { MountedOperation } from "../kernel/openapi/describe-operation.ts";
import { openApiDocument } from "../kernel/openapi/document.ts";
import type { ShownDocument } from "./document.ts";
import { docsFolders, searchFile } from "./folders.ts";
import { operationsPage } from "./operations-page.ts";
import { searchedOperations } from "./searched.ts";

/**
 * The documentation, from files of this installation only: `/docs`, the page of operations, which is made of what is
 * mounted; below it the pages of `docs/`, which are built; and `/`, which leads to the console or, where that is off, to
 * `/docs`.
 */
export function docsRoutes(ctx: Ctx, operations: () => readonly MountedOperation[]) {
  const document = async () => (await openApiDocument(operations(), ctx.publicUrl)) as ShownDocument;
  const page = kept("text/html; charset=utf-8", async () => operationsPage(await document()));
  const searched = kept("application/json", async () => JSON.stringify(searchedOperations(await document())));
  const assets = pageAssets();
  const files = new StaticFiles(docsFolders(ctx.config), searchFile);
  const file = async (request: Request, name: string) => {
    const response = await files.respond(request, name);
    if (response !== null) return response;
    if (!files.isBuilt) return unbuilt("The pages", "npm run build:docs");
    throw new ApiError("not_found");
  };
  return new Elysia()
    .get(
      "/",
      () => new Response(null, { status: 307, headers: { Location: ctx.config.console ? "/console" : "/docs" } }),
    )
    .get("/docs", ({ request }) => page.respond(request))
    .get("/docs/operations.json", ({ request }) => searched.respond(request))
    .get("/docs/assets/:name", ({ request, params }) => {
      const asset = assets.get(params.name);
      return asset === undefined ? file(request, `assets/${params.name}`) : asset.respond(request);
    })
    .get("/docs/*", ({ request, params }) => {
      const path = params["*"];
      return file(request, path === searchFile ? path : `${path}.html`);
    });
}

function kept(mediaType: string, make: () => string | Promise<string>): KeptText {
  return new KeptText(make, { ...pageSecurity, "Content-Type": mediaType, "Cache-Control": "no-cache" });
}

/** What the pages load, by name: none of it is built, so the page of operations needs no build. */
function pageAssets(): ReadonlyMap<string, KeptText> {
  const own = (path: string) => readFile(fileURLToPath(new URL(path, import.meta.url).href), "utf8");
  const search = () => join(dirname(createRequire(import.meta.url).resolve("minisearch")), "../es/index.js");
  const script = "text/javascript; charset=utf-8";
  return new Map([
    [
      "page.css",
      kept("text/css; charset=utf-8", async () =>
        [await own("../console/style/tokens.css"), await own("browser/page.css")].join("\n"),
      ),
    ],
    ["page.js", kept(script, () => own("browser/page.js"))],
    ["minisearch.js", kept(script, () => readFile(search(), "utf8"))],
  ]);
}
