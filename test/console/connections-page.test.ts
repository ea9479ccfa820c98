import { afterAll, describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { AuthorizationServer } from "../servers/authorization.ts";
import { McpServer, textTool } from "../servers/mcp.ts";

const jwtSecret = "a secret of the dashboard, long enough";
const { h, t, origin, visit, signedIn } = await useConsole({ DASHBOARD_JWT_SECRET: jwtSecret });
const open = new McpServer();
const guarded = new McpServer();
const auth = new AuthorizationServer();
guarded.settings.accepts = (token) => auth.isValid(token, guarded.url) || token === "right";
guarded.settings.authorizationServer = auth.issuer;
afterAll(() => Promise.all([open.stop(), guarded.stop(), auth.stop()]));

const hostile = `<img src=x onerror=alert(1)>`;
const phone = { width: 360, height: 740 };

describe.skipIf(!hasBrowser)("the screen of MCP connections", () => {
  test("creates one by keyboard alone, tests it, and shows the tools as text", async () => {
    open.settings.tools = [textTool("echo"), textTool("<script>alert(1)</script>")];
    const person = await signedIn("/connections");
    const { keyboard } = person.page;
    await person.sees("There is no connection yet.");
    await person.button("New connection").focus();
    await keyboard.press("Enter");
    const dialog = person.page.getByRole("dialog", { name: "New connection" });
    await dialog.getByLabel("Name").focus();
    await keyboard.type(hostile);
    await keyboard.press("Tab");
    await keyboard.type(open.url);
    await keyboard.press("Enter");
    await person.heading(hostile).waitFor();
    await person.sees("connected");
    await person.press("Test");
    await person.page.getByRole("list", { name: "Tools found" }).getByText("<script>alert(1)</script>").waitFor();
    await person.sees(/and has 2 tools/);
    expect(await person.wrongs()).toEqual([]);
  });

  test("says what is wrong with the fields, or why the server cannot be used, and creates with a token", async () => {
    const person = await signedIn("/connections");
    await person.press("New connection");
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("Authentication").selectOption("bearer");
    await person.press("Create");
    await dialog.getByRole("alert").first().waitFor();
    expect(await dialog.getByLabel("Name").getAttribute("aria-invalid")).toBe("true");
    expect(await person.wrongs()).toEqual([]);
    await dialog.getByLabel("Name").fill("With a token");
    await dialog.getByLabel("URL").fill(guarded.url);
    await dialog.getByLabel("Token").fill("wrong");
    await person.press("Create");
    await dialog
      .getByRole("alert")
      .getByText(/credential/i)
      .waitFor();
    await dialog.getByLabel("Token").fill("right");
    await person.press("Create");
    await person.heading("With a token").waitFor();
    await person.page.getByLabel("Name").fill("Renamed");
    await person.press("Save");
    await person.heading("Renamed").waitFor();
    guarded.settings.accepts = (token) => auth.isValid(token, guarded.url);
    await person.press("Test");
    await person.sees("needs auth");
    await person.sees("The server refused the credentials");
    await person.page.getByLabel("URL").fill(open.url);
    await person.page.getByLabel("Authentication").selectOption("none");
    await person.press("Reconnect");
    await person.sees("The connection is changed, and works.");
    await person.sees("connected");
    expect(await person.wrongs()).toEqual([]);
  });

  test("creates with a client's credentials", async () => {
    const { clientId, clientSecret } = auth.addClient();
    const person = await signedIn("/connections");
    await person.press("New connection");
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Application");
    await dialog.getByLabel("URL").fill(guarded.url);
    await dialog.getByLabel("Authentication").selectOption("oauth_client_credentials");
    await dialog.getByLabel("Client id").fill(clientId);
    await dialog.getByLabel("Client secret").fill(clientSecret);
    await person.press("Create");
    await person.heading("Application").waitFor();
    await person.sees(auth.issuer);
  });

  test("lets a dashboard user sign in to a server in a new tab, and nobody else", async () => {
    const { id } = await t.parley.mcpConnections.create({
      ...{ name: "Person", url: guarded.url, authType: "oauth_authorization_code" },
    });
    const key = await signedIn(`/connections/${id}`);
    await key.sees("Somebody has to sign in.");
    await key.sees(/with a dashboard token/);
    expect(await key.button("Connect").isDisabled()).toBe(true);
    expect(await key.wrongs()).toEqual([]);

    const token = await new SignJWT({ tenantId: t.id, authUserId: "ada" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode(jwtSecret));
    const person = await visit();
    await person.open(`/connections/${id}`);
    await person.signIn(token);
    const context = person.page.context();
    // The links that the service makes name its public address, which is elsewhere in tests.
    await context.route("http://parley.test/**", async (route) => {
      const { pathname, search } = new URL(route.request().url());
      await route.fulfill({ response: await route.fetch({ url: `${origin}${pathname}${search}`, maxRedirects: 0 }) });
    });
    const opened = context.waitForEvent("page");
    await person.press("Connect");
    const tab = await opened;
    await tab.getByRole("button", { name: "Continue" }).click();
    await tab.getByText("Person is connected.").waitFor();
    expect(await tab.evaluate("window.opener")).toBeNull();
    await tab.close();
    await person.sees("connected");
    await person.button("Connect").waitFor({ state: "detached" });
    expect(await person.wrongs()).toEqual([]);
  });

  test("deletes one that no agent uses, and says why it keeps one that is used", async () => {
    const { id } = await t.parley.mcpConnections.create({ name: "Used", url: open.url, authType: "none" });
    const agentId = await makeAgent(h, t, { mcpConnectionIds: [id] });
    const person = await signedIn(`/connections/${id}`);
    const dialog = person.page.getByRole("alertdialog");
    await person.press("Delete");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("alert").waitFor();
    expect(await person.wrongs()).toEqual([]);
    await t.parley.agents.update(agentId, { mcpConnectionIds: [] });
    await dialog.getByRole("button", { name: "Delete" }).click();
    await person.heading("Connections").waitFor();
    await person.sees("Used is deleted.");
    await eventually(async () => (await person.page.getByRole("link", { name: "Used" }).count()) === 0);
  });

  test("has no serious fault on a phone, in the dark", async () => {
    const { id } = await t.parley.mcpConnections.create({ name: "Phone", url: open.url, authType: "none" });
    const person = await signedIn("/connections", { viewport: phone, colorScheme: "dark" });
    await person.sees("Phone");
    expect(await person.wrongs()).toEqual([]);
    await person.open(`/connections/${id}`);
    await person.press("Test");
    await person.sees(/and has 2 tools/);
    expect(await person.wrongs()).toEqual([]);
  });
});
