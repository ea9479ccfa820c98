import { afterAll } from "bun:test";
import type { App } from "../../src/app.ts";
import type { Account, IdentityProviderServer } from "../servers/identity-provider.ts";
import { IdentityProviderServer as Server } from "../servers/identity-provider.ts";
import { type ConsolePage, consoleOrigin, pageOf } from "./console-page.ts";

/** The environment of a service whose console signs in by an identity provider. */
export function oidcEnv(idp: IdentityProviderServer): Record<string, string> {
  return {
    CONSOLE: "1",
    PUBLIC_URL: consoleOrigin,
    CONSOLE_OIDC_ISSUER: idp.url,
    CONSOLE_OIDC_CLIENT_ID: idp.clientId,
    CONSOLE_OIDC_CLIENT_SECRET: idp.clientSecret,
    CONSOLE_OIDC_OPERATOR_GROUP: "operators",
  };
}

/** An identity provider for the console of tests, ended after the last test of the file. */
export async function useIdentityProvider(): Promise<IdentityProviderServer> {
  const idp = new Server();
  await idp.start(consoleOrigin);
  afterAll(() => idp.stop());
  return idp;
}

/** What a browser has after `GET /console/api/oidc/start`: where it is sent, and its cookie. */
export interface Begun {
  readonly address: string;
  readonly cookie: string;
}

/** Begins a sign-in. */
export async function beginSignIn(app: App, query = ""): Promise<Begun> {
  const response = await app(new Request(`${consoleOrigin}/console/api/oidc/start${query}`));
  if (response.status !== 303) throw new Error(`The start was ${response.status}: ${await response.text()}`);
  const cookie = (response.headers.get("set-cookie") as string).split(";", 1)[0] as string;
  return { address: response.headers.get("location") as string, cookie };
}

/** Sends what the provider sends the browser back with. */
export function comeBack(
  app: App,
  at: URL | string,
  cookie: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return app(new Request(at, { headers: { cookie, "sec-fetch-site": "cross-site", ...headers } }));
}

/** Signs somebody in, and returns the last response. */
export async function tryPerson(app: App, idp: IdentityProviderServer, account: Account): Promise<Response> {
  const { address, cookie } = await beginSignIn(app);
  idp.account = account;
  return comeBack(app, await idp.signIn(address), cookie);
}

/** Returns the page of who was signed in by a callback's response. */
export async function pageAfter(app: App, response: Response): Promise<ConsolePage> {
  const set = response.headers.getSetCookie().find((cookie) => cookie.includes("parley_console="));
  if (response.status !== 303 || set === undefined)
    throw new Error(`The sign-in was ${response.status}: ${await response.text()}`);
  const cookie = set.split(";", 1)[0] as string;
  const session = await app(
    new Request(`${consoleOrigin}/console/api/session`, { headers: { cookie, "sec-fetch-site": "same-origin" } }),
  );
  return pageOf(app, cookie, (await session.json()) as { csrfToken: string });
}

/** Signs somebody in. Throws when that is refused. */
export async function signInPerson(app: App, idp: IdentityProviderServer, account: Account): Promise<ConsolePage> {
  return pageAfter(app, await tryPerson(app, idp, account));
}
