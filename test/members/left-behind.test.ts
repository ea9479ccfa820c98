import { afterAll, describe, expect, test } from "bun:test";
import { type ConsolePage, consoleOrigin } from "../harness/console-page.ts";
import { oidcEnv, signInPerson, useIdentityProvider } from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import { SignInBrowser } from "../harness/sign-in-browser.ts";
import { AuthorizationServer } from "../servers/authorization.ts";
import { McpServer } from "../servers/mcp.ts";

const idp = await useIdentityProvider();
const { h, t } = await useTenant({ env: { ...oidcEnv(idp), ALLOW_PRIVATE_NETWORK: "1" } });
const fresh = () => `${crypto.randomUUID()}@example.org`;

/** A member who is signed in, and how the access ends or becomes too little. */
async function memberOf(role: string) {
  const email = fresh();
  const { id } = (await t.call("POST", "/v1/members", { body: { email, role } })).body as { id: string };
  return { id, page: await signInPerson(h.app, idp, { email }) };
}
const ends = {
  removed: async (id: string) => (await t.call("DELETE", `/v1/members/${id}`)).status,
  lowered: async (id: string) => (await t.call("PATCH", `/v1/members/${id}`, { body: { role: "reader" } })).status,
} as const;

describe("a link to sign in to an MCP server, asked for by a member", async () => {
  const [mcp, auth] = [new McpServer(), new AuthorizationServer()];
  afterAll(() => Promise.all([mcp.stop(), auth.stop()]));
  mcp.settings.accepts = (token) => auth.isValid(token, mcp.url);
  mcp.settings.authorizationServer = auth.issuer;
  const begun = async () => {
    const { id, page } = await memberOf("editor");
    const made = await t.call("POST", "/v1/mcp-connections", {
      body: { name: crypto.randomUUID(), url: mcp.url, authType: "oauth_authorization_code" },
    });
    expect(made.status).toBe(201);
    const { url } = (await page.call("POST", `/mcp-connections/${made.body.id}/connect`)).body as { url: string };
    const status = async () => (await t.call("GET", `/v1/mcp-connections/${made.body.id}`)).body.status;
    return { id, url, browser: new SignInBrowser(h.app, consoleOrigin), status };
  };

  test("connects it while the member is one", async () => {
    const { url, browser, status } = await begun();
    expect((await browser.follow(url)).status).toBe(200);
    expect(await status()).toBe("connected");
  });

  for (const [how, end] of Object.entries(ends)) {
    test(`leads nowhere once the member is ${how}`, async () => {
      const { id, url, browser, status } = await begun();
      expect([200, 204]).toContain(await end(id));
      expect((await browser.visit(url)).status).toBe(410);
      expect((await browser.press(url)).status).toBe(410);
      expect(await status()).toBe("needs_auth");
    });

    test(`connects nothing where the member is ${how} while signing in there`, async () => {
      const { id, url, browser, status } = await begun();
      await browser.visit(url);
      let step = await browser.press(url);
      const back = await browser.visit(step.location as string);
      expect([200, 204]).toContain(await end(id));
      step = await browser.visit(back.location as string);
      expect(step.status).toBe(400);
      expect(await status()).toBe("needs_auth");
    });
  }
});

describe("a client token that a member made", () => {
  const tokenOf = async (page: ConsolePage) => {
    const agent = await t.parley.agents.create({ name: crypto.randomUUID() });
    const made = await page.call("POST", "/client-tokens", { body: { agentId: agent.id, userId: "u" } });
    expect(made.status).toBe(201);
    return async () =>
      (await t.call("GET", `/v1/agents/${agent.id}/sessions?userId=u`, { token: made.body.token })).status;
  };

  for (const [how, end] of Object.entries(ends))
    test(`is good for nothing once the member is ${how} below who may make one`, async () => {
      const { id, page } = await memberOf("runner");
      const asked = await tokenOf(page);
      expect(await asked()).toBe(200);
      expect([200, 204]).toContain(await end(id));
      expect(await asked()).toBe(401);
    });

  test("ends with the group by which the member may make one, and lives while another role does", async () => {
    const email = fresh();
    const group = crypto.randomUUID();
    await h.sql`insert into tenant_groups (tenant_id, name, role) values (${t.id}, ${group}, 'runner')`;
    const asked = await tokenOf(await signInPerson(h.app, idp, { email, groups: [group] }));
    expect(await asked()).toBe(200);
    const member = (await t.call("GET", "/v1/members")).body.data.find((one: { email: string }) => one.email === email);
    await t.call("PATCH", `/v1/members/${member.id}`, { body: { role: "editor" } });
    await h.sql`delete from tenant_groups where tenant_id = ${t.id} and name = ${group}`;
    expect(await asked()).toBe(200);
    await t.call("PATCH", `/v1/members/${member.id}`, { body: { role: "approver" } });
    expect(await asked()).toBe(401);
  });
});
