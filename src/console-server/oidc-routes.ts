import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { requestIdOf, waitAnew } from "../kernel/http/request.ts";
import { unavailableRetryAfterSeconds } from "../kernel/limits.ts";
import type { OidcConfig } from "../kernel/oidc-config.ts";
import { sameText } from "../kernel/seal.ts";
import { addressKey } from "../members/address.ts";
import { enterPerson, tenantsOfPerson } from "../members/person.ts";
import { sessionCookie } from "./cookie.ts";
import { recordChoice } from "./current-session.ts";
import { confined } from "./inner-request.ts";
import { beginFlow, type Flow, flowIn, noFlow } from "./oidc/flow.ts";
import { type Person, personIn, refused } from "./oidc/person.ts";
import { IdentityProvider, type ProviderClaims } from "./oidc/provider.ts";
import { isProviderAway } from "./oidc/provider-fetch.ts";
import { newSecret } from "./secret.ts";
import { isOperatorByGroup } from "./session.ts";
import { insertPageSession, type PersonChoice, takeState } from "./store.ts";

/** Callbacks of this process that wait for the identity provider at once: what strangers send costs no more than that. */
const waitingMax = 64;

/** Signing in by the identity provider: what the page shows of it, the start, and where the provider sends the browser back to. */
export function oidcRoutes(ctx: Ctx) {
  const config = ctx.config.consoleOidc;
  const routes = new Elysia({ prefix: "/console/api/oidc", normalize: false }).get("", () =>
    confined(
      Response.json({ provider: config === null ? null : { name: config.name, startUrl: "/console/api/oidc/start" } }),
    ),
  );
  if (config === null) return routes.get("/start", refuseWithoutProvider).get("/callback", refuseWithoutProvider);
  const door = new OidcDoor(ctx, config);
  return routes
    .get("/start", ({ request }) => door.start(request))
    .get("/callback", ({ request }) => door.callback(request));
}

class OidcDoor {
  readonly #ctx: Ctx;
  readonly #config: OidcConfig;
  readonly #provider: IdentityProvider;
  #waiting = 0;

  constructor(ctx: Ctx, config: OidcConfig) {
    this.#ctx = ctx;
    this.#config = config;
    this.#provider = new IdentityProvider(config, ctx.publicUrl);
  }

  /** Sends the browser to the provider. 503 while that is away. */
  start(request: Request): Promise<Response> {
    return this.#respond(request, async () => {
      const { sealer, publicUrl } = this.#ctx;
      const { flow, cookie } = beginFlow(sealer, publicUrl, new URL(request.url).searchParams.get("to"));
      const url = await this.#outside(request, () => this.#provider.signInUrl(flow));
      return redirect(url.href, [cookie]);
    });
  }

  /** Signs in whom the provider sends back, and leads to the console. */
  callback(request: Request): Promise<Response> {
    return this.#respond(request, async () => {
      const { sealer, publicUrl, authSql } = this.#ctx;
      const { search, searchParams } = new URL(request.url);
      const flow = flowIn(sealer, request, publicUrl);
      if (flow === null || !sameText(searchParams.get("state") ?? "", flow.state)) throw failed();
      if (!(await takeState(authSql, flow.state))) throw failed();
      if (searchParams.get("error") !== null) throw failed("The identity provider did not sign you in.");
      const said = await this.#finish(request, search, flow);
      const person = personIn(said, this.#config.groupsClaim);
      const { secret, expiresAt } = await this.#enter(person, requestIdOf(request));
      return redirect(flow.returnPath, [sessionCookie(publicUrl, secret, expiresAt), noFlow(publicUrl)]);
    });
  }

  async #finish(request: Request, query: string, flow: Flow): Promise<ProviderClaims> {
    if (this.#waiting >= waitingMax) throw away();
    this.#waiting += 1;
    try {
      return await this.#outside(request, () => this.#provider.finish(query, flow));
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Asks the provider. The request holds no place meanwhile, and no connection. */
  async #outside<T>(request: Request, ask: () => Promise<T>): Promise<T> {
    const { slots, log } = this.#ctx;
    slots.pause(request);
    try {
      return await ask();
    } catch (error) {
      const isAway = isProviderAway(error);
      // The library's messages name what was not right, and quote no token.
      log.warn(
        { requestId: requestIdOf(request), reason: reasonOf(error) },
        "a sign-in by the identity provider failed",
      );
      throw isAway ? away() : failed();
    } finally {
      await slots.resume(request);
      waitAnew(request);
    }
  }

  /** Makes the session of a person. Where there is but one thing to be, it is chosen. Throws 403 `sign_in_refused` where there is none. */
  #enter(person: Person, requestId: string) {
    const emailKey = addressKey(person.email);
    const isOperator = isOperatorByGroup(this.#ctx, person);
    const secret = newSecret();
    return tx(this.#ctx.sql, async (inner) => {
      await enterPerson(inner, person);
      const tenants = await tenantsOfPerson(inner, emailKey);
      if (tenants.length === 0 && !isOperator)
        throw refused(
          `${person.email} is a member of no tenant here, or the invitation is over. Ask an admin of yours.`,
        );
      const [only, ...others] = tenants;
      const choice: PersonChoice =
        only !== undefined && others.length === 0 && !isOperator
          ? { tenantId: only.tenantId, memberId: only.memberId, asOperator: false }
          : { tenantId: null, memberId: null, asOperator: tenants.length === 0 };
      await recordChoice(inner, person, choice, requestId);
      const credential = JSON.stringify(person);
      const expiresAt = await insertPageSession(inner, { secret, credential, emailKey, endsAt: null, ...choice });
      return { secret, expiresAt };
    });
  }

  /** A person's browser is led to the sign-in page, which says in words what went wrong; any other client gets the error. */
  async #respond(request: Request, work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (error) {
      const isBrowser = request.headers.get("accept")?.includes("text/html") === true;
      if (!(error instanceof ApiError) || !isBrowser) throw error;
      // The page has the words: what stands in an address may be anybody's.
      return redirect(`/console#sign-in-fault=${error.reason}`, [noFlow(this.#ctx.publicUrl)]);
    }
  }
}

function refuseWithoutProvider(): never {
  throw new ApiError("not_found", { message: "No identity provider is set up for this installation." });
}

function failed(message = "The sign-in could not be finished, or was used before. Begin it again."): ApiError {
  return new ApiError("unauthorized", { message });
}

function away(): ApiError {
  return new ApiError("service_unavailable", {
    message: "The identity provider cannot be reached.",
    headers: { "Retry-After": String(unavailableRetryAfterSeconds) },
  });
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ Location: location });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return confined(new Response(null, { status: 303, headers }));
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as {
    readonly name?: string;
    readonly code?: string;
    readonly message?: string;
  };
  return [name, code, message].filter((word) => word !== undefined).join(": ");
}
