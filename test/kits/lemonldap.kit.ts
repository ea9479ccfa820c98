/**
 * LemonLDAP::NG of Debian, another certified OpenID provider than the one of `test/members`, signs people in to the console:
 * its issuer ends with a slash, it names no issuer in callbacks, and has no scope for groups. Skipped where it is not installed.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { consoleOrigin } from "../harness/console-page.ts";
import { beginSignIn, comeBack, pageAfter } from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import { isLemonldapInstalled, Lemonldap, LemonldapBrowser, type Person } from "./lemonldap-server.ts";

describe.skipIf(!isLemonldapInstalled)("LemonLDAP::NG", async () => {
  if (!isLemonldapInstalled) return;
  const idp = await Lemonldap.start(consoleOrigin);
  afterAll(() => idp.stop());
  const { h, t } = await useTenant({
    env: {
      CONSOLE: "1",
      PUBLIC_URL: consoleOrigin,
      CONSOLE_OIDC_ISSUER: idp.url,
      CONSOLE_OIDC_CLIENT_ID: idp.clientId,
      CONSOLE_OIDC_CLIENT_SECRET: idp.clientSecret,
      CONSOLE_OIDC_OPERATOR_GROUP: "companions",
    },
  });
  const { app } = h;
  const tryToSignIn = async (person: Person, browser = new LemonldapBrowser(idp)) => {
    const { address, cookie } = await beginSignIn(app);
    return comeBack(app, await browser.signIn(address, person), cookie);
  };
  const signIn = async (person: Person, browser?: LemonldapBrowser) =>
    pageAfter(app, await tryToSignIn(person, browser));
  const invite = async (person: Person, role: string) =>
    (await t.call("POST", "/v1/members", { body: { email: `${person}@badwolf.org`, role } })).body.id as string;
  const codeOf = async (response: Response) => [response.status, (await response.json()).error.code];

  test("signs in a member by the verified address, who acts by name until removed", async () => {
    const memberId = await invite("dwho", "editor");
    const page = await signIn("dwho");
    expect(page.session).toMatchObject({
      principal: { kind: "tenant", tenantId: t.id, memberId, role: "editor" },
      person: { email: "dwho@badwolf.org", name: "Doctor Who", isOperator: false },
    });
    const made = (await page.call("POST", "/prompts", { body: { name: "p", template: "x" } })).body;
    const [event] = (await t.call("GET", `/v1/audit-events?resourceId=${made.id}`)).body.data;
    expect(event).toMatchObject({ actor: { type: "member", id: memberId }, actorName: "Doctor Who" });
    expect((await t.call("DELETE", `/v1/members/${memberId}`)).status).toBe(204);
    expect((await page.call("GET", "/agents")).status).toBe(401);
    expect(await codeOf(await tryToSignIn("dwho"))).toEqual([403, "sign_in_refused"]);
  }, 60_000);

  test("403 sign_in_refused: an address that it has not verified", async () => {
    await invite("msmith", "editor");
    expect(await codeOf(await tryToSignIn("msmith"))).toEqual([403, "sign_in_refused"]);
  }, 60_000);

  test("says groups: of tenants, and of operators", async () => {
    const tenant = await h.tenant();
    await h.sql`insert into tenant_groups (tenant_id, name, role) values (${tenant.id}, 'timelords', 'runner')`;
    expect((await signIn("dwho")).session.principal).toMatchObject({ tenantId: tenant.id, role: "runner" });
    expect((await signIn("rtyler")).session.principal.kind).toBe("operator");
    await h.sql`delete from tenant_groups where tenant_id = ${tenant.id}`;
    expect(await codeOf(await tryToSignIn("dwho"))).toEqual([403, "sign_in_refused"]);
  }, 60_000);

  test("has another key from one moment on: who signs in next is taken", async () => {
    const memberId = await invite("dwho", "reader");
    await signIn("dwho");
    await idp.rotateKeys();
    await signIn("dwho");
    await t.call("DELETE", `/v1/members/${memberId}`);
  }, 60_000);

  test("401 unauthorized: a code that was used, one that belongs to another sign-in, and another issuer's name", async () => {
    const memberId = await invite("dwho", "reader");
    const browser = new LemonldapBrowser(idp);
    const [one, two, three] = [await beginSignIn(app), await beginSignIn(app), await beginSignIn(app)];
    const at = await browser.signIn(one.address, "dwho");
    await pageAfter(app, await comeBack(app, at, one.cookie));
    expect(await codeOf(await comeBack(app, at, one.cookie))).toEqual([401, "unauthorized"]);
    const second = await browser.signIn(two.address, "dwho");
    second.searchParams.set("code", at.searchParams.get("code") as string);
    expect(await codeOf(await comeBack(app, second, two.cookie))).toEqual([401, "unauthorized"]);
    const third = await browser.signIn(three.address, "dwho");
    third.searchParams.set("iss", "https://evil.example");
    expect(await codeOf(await comeBack(app, third, three.cookie))).toEqual([401, "unauthorized"]);
    await t.call("DELETE", `/v1/members/${memberId}`);
  }, 60_000);

  test("signs out here and there, and leads back to the console", async () => {
    const memberId = await invite("dwho", "reader");
    const browser = new LemonldapBrowser(idp);
    await signIn("dwho", browser);
    const page = await signIn("dwho", browser);
    expect(browser.passwords).toBe(1);
    const { body } = await page.call("POST", "/logout");
    expect((await page.call("GET", "/session")).status).toBe(401);
    const back = await browser.follow(body.endSessionUrl);
    expect(back.origin + back.pathname).toBe(`${consoleOrigin}/console`);
    await signIn("dwho", browser);
    expect(browser.passwords).toBe(2);
    await t.call("DELETE", `/v1/members/${memberId}`);
  }, 60_000);
});
