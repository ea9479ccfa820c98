import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { pageFolders } from "./folders.ts";
import { confined, type Respond, respondAs } from "./inner-request.ts";
import { operatorRoutes } from "./operator-routes.ts";
import { ConsolePages } from "./pages.ts";
import { requirePageSession } from "./session.ts";
import { respondToSignIn, respondToSignOut, respondWithSession } from "./sign-in.ts";

/**
 * The console (docs/console.md): its pages, signing in, and everything that the page asks for.
 * `respond` does what the app does. Nothing where it is switched off.
 */
export function consoleRoutes(ctx: Ctx, respond: Respond) {
  if (!ctx.config.console) return new Elysia();
  const pages = new ConsolePages(pageFolders(ctx.config));
  const operation = async ({ request }: { readonly request: Request }) => {
    const session = await requirePageSession(ctx, request);
    // An operator is no tenant, and has nothing of any.
    if (session.kind === "operator") throw new ApiError("not_found");
    return respondAs(ctx, session.credential, request, respond);
  };
  return (
    new Elysia({ normalize: false })
      .get("/console", ({ request }) => pages.respond(request, ""))
      .get("/console/*", ({ request, params }) => pages.respond(request, params["*"]))
      .post("/console/api/login", async ({ request }) => confined(await respondToSignIn(ctx, request)))
      .get("/console/api/session", async ({ request }) => confined(await respondWithSession(ctx, request)))
      .post("/console/api/logout", async ({ request }) => confined(await respondToSignOut(ctx, request)))
      .use(operatorRoutes(ctx))
      // Elysia looks for a route of the method before one of all methods, and the pages are a GET.
      .get("/console/api/*", operation)
      .all("/console/api/*", operation)
  );
}
