import { describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { consoleOrigin } from "../harness/console-page.ts";
import {
  beginSignIn,
  comeBack,
  oidcEnv,
  pageAfter,
  signInPerson,
  tryPerson,
  useIdentityProvider,
} from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";

const idp = await useIdentityProvider();
const { h, t } = await useTenant({ env: oidcEnv(idp) });
const { app } = h;
const invite = async (email: string, role = "editor", tenant = t) =>
  (await tenant.call("POST", "/v1/members", { body: { email, role } })).body.id as string;
const fresh = () => `${crypto.randomUUID().slice(0, 8)}@example.org`;
const codeOf = async (response: Response) => [response.status, (await response.json()).error.code];

/** What a sign-in is when the provider's ID token is another one. */
async function withToken(change: (idToken: string) => Promise<string> | string): Promise<unknown> {
  const email = fresh();
  await invite(email);
  idp.tamper = async (path, body) =>
    path === "/token" && typeof body.id_token === "string" ? { ...body, id_token: await change(body.id_token) } : body;
  const response = await tryPerson(app, idp, { email }).finally(() => {
    idp.tamper = null;
  });
  return response.status === 303 ? "signed in" : codeOf(response);
}

describe("a callback", () => {
  const refusedAs = [401, "unauthorized"];

  test("401 unauthorized: without its cookie, in another browser, with another state, and twice", async () => {
    const email = fresh();
    await invite(email);
    const [mine, theirs] = [await beginSignIn(app), await beginSignIn(app)];
    idp.account = { email };
    const at = await idp.signIn(mine.address);
    expect(await codeOf(await comeBack(app, at, ""))).toEqual(refusedAs);
    expect(await codeOf(await comeBack(app, at, theirs.cookie))).toEqual(refusedAs);
    expect(await codeOf(await comeBack(app, at, `${mine.cookie.slice(0, -2)}xx`))).toEqual(refusedAs);
    const other = new URL(at);
    other.searchParams.set("state", new URL(theirs.address).searchParams.get("state") as string);
    expect(await codeOf(await comeBack(app, other, mine.cookie))).toEqual(refusedAs);
    await pageAfter(app, await comeBack(app, at, mine.cookie));
    expect(await codeOf(await comeBack(app, at, mine.cookie))).toEqual(refusedAs);
  });

  test("401 unauthorized: one of two that come at once with the same code", async () => {
    const email = fresh();
    await invite(email);
    const { address, cookie } = await beginSignIn(app);
    idp.account = { email };
    const at = await idp.signIn(address);
    const both = await Promise.all([comeBack(app, at, cookie), comeBack(app, at, cookie)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 401]);
  });

  test("401 unauthorized: a code that was used under another state", async () => {
    const email = fresh();
    await invite(email);
    const [one, two] = [await beginSignIn(app), await beginSignIn(app)];
    idp.account = { email };
    const [first, second] = [await idp.signIn(one.address), await idp.signIn(two.address)];
    await pageAfter(app, await comeBack(app, first, one.cookie));
    second.searchParams.set("code", first.searchParams.get("code") as string);
    expect(await codeOf(await comeBack(app, second, two.cookie))).toEqual(refusedAs);
  });

  test("401 unauthorized: of another issuer, and where the issuer is left out", async () => {
    const email = fresh();
    await invite(email);
    for (const iss of ["https://evil.example", null]) {
      const { address, cookie } = await beginSignIn(app);
      idp.account = { email };
      const at = await idp.signIn(address);
      if (iss === null) at.searchParams.delete("iss");
      else at.searchParams.set("iss", iss);
      const before = idp.asked.filter((path) => path === "/token").length;
      expect(await codeOf(await comeBack(app, at, cookie))).toEqual(refusedAs);
      expect(idp.asked.filter((path) => path === "/token")).toHaveLength(before);
    }
  });

  test("401 unauthorized: where the person refused, and the sign-in page says so in a browser", async () => {
    const begin = async () => {
      const { address, cookie } = await beginSignIn(app);
      const state = new URL(address).searchParams.get("state") as string;
      const query = new URLSearchParams({ error: "access_denied", state, iss: idp.url });
      return { at: `${consoleOrigin}/console/api/oidc/callback?${query}`, cookie };
    };
    const one = await begin();
    expect(await codeOf(await comeBack(app, one.at, one.cookie))).toEqual(refusedAs);
    const two = await begin();
    const shown = await comeBack(app, two.at, two.cookie, { accept: "text/html,*/*" });
    expect([shown.status, shown.headers.get("location")]).toEqual([303, "/console#sign-in-fault=unauthorized"]);
  });
});

describe("an ID token", () => {
  const refused = [401, "unauthorized"];

  test("signed by a key that is new is taken, by one that is gone not", async () => {
    const email = fresh();
    await invite(email);
    await signInPerson(app, idp, { email });
    const old = await withToken(async (idToken) => {
      const before = await idp.resigned(idToken, () => ({}));
      await idp.rotateKeys();
      return before;
    });
    expect(old).toEqual(refused);
    await signInPerson(app, idp, { email });
  });

  test("401 unauthorized: `alg: none`, one signed with the client's secret, one that is changed", async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claimsOf = (idToken: string) =>
      JSON.parse(Buffer.from(idToken.split(".")[1] as string, "base64url").toString());
    expect(await withToken((idToken) => `${part({ alg: "none" })}.${idToken.split(".")[1]}.`)).toEqual(refused);
    const secret = new TextEncoder().encode(idp.clientSecret);
    const symmetric = (idToken: string) =>
      new SignJWT(claimsOf(idToken)).setProtectedHeader({ alg: "HS256" }).sign(secret);
    expect(await withToken(symmetric)).toEqual(refused);
    const changed = (idToken: string) => {
      const [head, , signature] = idToken.split(".");
      return `${head}.${part({ ...claimsOf(idToken), email: "admin@example.org" })}.${signature}`;
    };
    expect(await withToken(changed)).toEqual(refused);
  });

  test("401 unauthorized: of another issuer, client or sign-in", async () => {
    for (const claims of [
      { iss: "https://evil.example" },
      { aud: "another" },
      { nonce: "another" },
      { nonce: undefined },
      { sub: "another" },
    ])
      expect(await withToken((idToken) => idp.resigned(idToken, () => claims))).toEqual(refused);
  });

  test("may come from a clock that is half a minute away, and no more", async () => {
    const now = () => Math.floor(Date.now() / 1000);
    expect(await withToken((idToken) => idp.resigned(idToken, () => ({ exp: now() - 20 })))).toBe("signed in");
    expect(await withToken((idToken) => idp.resigned(idToken, () => ({ exp: now() - 60 })))).toEqual(refused);
    expect(await withToken((idToken) => idp.resigned(idToken, () => ({ nbf: now() + 20 })))).toBe("signed in");
    expect(await withToken((idToken) => idp.resigned(idToken, () => ({ nbf: now() + 60 })))).toEqual(refused);
  });

  test("has the address, or the user info has it; never the one's verification for the other's address", async () => {
    const [mine, theirs] = [fresh(), fresh()];
    await Promise.all([invite(mine), invite(theirs)]);
    const signInWith = async (claims: object) => {
      idp.tamper = async (path, body) =>
        path === "/token" ? { ...body, id_token: await idp.resigned(body.id_token as string, () => claims) } : body;
      const response = await tryPerson(app, idp, { email: mine }).finally(() => {
        idp.tamper = null;
      });
      return response.status === 303 ? (await pageAfter(app, response)).session.person.email : response.status;
    };
    expect(await signInWith({})).toBe(mine);
    expect(await signInWith({ email: theirs, email_verified: true })).toBe(theirs);
    expect(await signInWith({ email: theirs })).toBe(403);
  });
});

describe("the provider", () => {
  test("503 service_unavailable: while it is away, for its discovery document and for its tokens; then it works again", async () => {
    const own = await useIdentityProvider();
    const { app } = (await useTenant({ env: oidcEnv(own) })).h;
    const start = () => app(new Request(`${consoleOrigin}/console/api/oidc/start`));
    own.fault = (response) => response.writeHead(502).end("away");
    expect(await codeOf(await start())).toEqual([503, "service_unavailable"]);
    own.fault = (response) => response.destroy();
    expect(await codeOf(await start())).toEqual([503, "service_unavailable"]);
    own.fault = null;
    await eventually(async () => (await start()).status === 303);
    const { address, cookie } = await beginSignIn(app);
    const at = await own.signIn(address);
    own.fault = (response) => response.writeHead(500).end();
    expect(await codeOf(await comeBack(app, at, cookie))).toEqual([503, "service_unavailable"]);
  });

  test("is asked for S256, a state and a nonce, and for groups where it has such a scope", async () => {
    const { address } = await beginSignIn(app);
    const asked = new URL(address).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: "code",
      client_id: idp.clientId,
      redirect_uri: `${consoleOrigin}/console/api/oidc/callback`,
      scope: "openid email profile groups",
      code_challenge_method: "S256",
    });
    for (const name of ["state", "nonce", "code_challenge"]) expect(asked.get(name)).toMatch(/^[\w-]{43}$/);
    const other = new URL((await beginSignIn(app)).address).searchParams;
    for (const name of ["state", "nonce", "code_challenge"]) expect(other.get(name)).not.toBe(asked.get(name));
  });

  test("is named to the page; without one there is no start", async () => {
    const read = async (service: typeof app, path: string) =>
      service(new Request(`${consoleOrigin}/console/api/oidc${path}`));
    expect(await (await read(app, "")).json()).toEqual({
      provider: { name: new URL(idp.url).host, startUrl: "/console/api/oidc/start" },
    });
    const { h: without } = await useTenant({ env: { CONSOLE: "1" } });
    expect(await (await read(without.app, "")).json()).toEqual({ provider: null });
    for (const path of ["/start", "/callback?state=x"]) {
      const response = await read(without.app, path);
      expect(response.status).toBe(404);
      expect((await response.json()).error).toMatchObject({
        code: "not_found",
        message: "No identity provider is set up for this installation.",
      });
    }
  });
});
