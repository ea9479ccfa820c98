import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import type { OperationHandler } from "../kernel/http/operation.ts";
import { respondToChoice, respondToSignOut, respondWithSession } from "./current-session.ts";
import { newestFirst, pageFolders } from "./folders.ts";
import { confined, type Respond, respondAs } from "./inner-request.ts";
import { oidcRoutes } from "./oidc-routes.ts";
import { operatorRoutes } from "./operator-routes.ts";
import { ConsolePages } from "./pages.ts";
import { requirePageSession } from "./session.ts";
import { respondToSignIn } from "./sign-in.ts";
import { tenantViews } from "./tenant-views.ts";

/**
 * The console (docs/console.md): its pages, signing in, and everything that the page asks for.
 * `respond` does what the app does. Nothing where it is switched off.
 */
export function consoleRoutes(ctx: Ctx, respond: Respond) {
  if (!ctx.config.console) return new Elysia();
  const pages = new ConsolePages(newestFirst(pageFolders(ctx.config)));
  const views = tenantViews(ctx);
  const asTenant = async (request: Request, serve: Respond) => {
    const session = await requirePageSession(ctx, request);
    // An operator is no tenant, and has nothing of any; nor has a person who has chosen none.
    if (session.kind !== "tenant") throw new ApiError("not_found");
    return respondAs(ctx, session.sender, request, serve);
  };
  const operation = ({ request }: { readonly request: Request }) => asTenant(request, respond);
  const view =
    (handler: OperationHandler) =>
    ({ request }: { readonly request: Request }) =>
      asTenant(request, (inner) => handler({ request: inner, params: {} }));
  return new Elysia({ normalize: false })
    .get("/console", ({ request }) => pages.respond(request, ""))
    .get("/console/*", ({ request, params }) => pages.respond(request, params["*"]))
    .post("/console/api/login", async ({ request }) => confined(await respondToSignIn(ctx, request)))
    .get("/console/api/session", async ({ request }) => confined(await respondWithSession(ctx, request)))
    .post("/console/api/session/tenant", async ({ request }) => confined(await respondToChoice(ctx, request)))
    .post("/console/api/logout", async ({ request }) => confined(await respondToSignOut(ctx, request)))
    .get("/console/api/overview", view(views.overview))
    .get("/console/api/waiting", view(views.waiting))
    .get("/console/api/questions", view(views.questions))
    .get("/console/api/decisions", view(views.decisions))
    .get("/console/api/session-list", view(views.sessionList))
    .get("/console/api/stopped-users", view(views.stoppedUsers))
    .get("/console/api/first-steps", view(views.firstSteps))
    .get("/console/api/unanswered", view(views.unanswered))
    .get("/console/api/message-turns", view(views.messageTurns))
    .get("/console/api/turn-words", view(views.turnWords))
    .get("/console/api/said-before", view(views.saidBefore))
    .get("/console/api/search", view(views.search))
    .get("/console/api/provider-marks", view(views.providerMarks))
    .get("/console/api/audit-names", view(views.auditNames))
    .get("/console/api/audit-choices", view(views.auditChoices))
    .get("/console/api/agent-marks", view(views.agentMarks))
    .get("/console/api/version-marks", view(views.versionMarks))
    .use(oidcRoutes(ctx))
    .use(operatorRoutes(ctx))
    .get("/console/api/*", operation)
    .post("/console/api/*", operation)
    .put("/console/api/*", operation)
    .patch("/console/api/*", operation)
    .delete("/console/api/*", operation);
}
