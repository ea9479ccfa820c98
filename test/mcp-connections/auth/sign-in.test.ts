import { beforeEach, describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { createApp } from "../../../src/app.ts";
import type { Form } from "../../../src/kernel/errors.ts";
import { eventually } from "../../harness/harness.ts";
import { useMcpWithOAuth } from "../../harness/mcp-fixture.ts";
import { SignInBrowser } from "../../harness/sign-in-browser.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";

const jwtSecret = "a secret of the dashboard, long enough";

const scene = await useMcpWithOAuth({ env: { DASHBOARD_JWT_SECRET: jwtSecret } });
const { h } = scene;

const path = "/v1/mcp-connections";
const made = (fields: Record<string, unknown> = {}) => scene.made({ authType: "oauth_authorization_code", ...fields });

function jwt(claims: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT({ tenantId: scene.t.id, authUserId: "user-1", ...claims })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("5m")
    .sign(new TextEncoder().encode(jwtSecret));
}

async function connect(id: string, form: Form = "a") {
  return scene.t.call("POST", `${path}/${id}/connect`, { form, token: await jwt() });
}

async function link(id: string): Promise<string> {
  const { status, body } = await connect(id);
  expect([status, body]).toEqual([
    200,
    { url: expect.stringMatching(/^http:\/\/parley\.test\/connect\/mcp\/[\w-]{43}$/) },
  ]);
  return body.url;
}

/** The browser of this test's person. */
let browser: SignInBrowser;
beforeEach(() => {
  browser = new SignInBrowser(h.app);
});
const visit = (url: string) => browser.visit(url);
const follow = (url: string) => browser.follow(url);
/** Opens a link and presses its button. */
async function begin(url: string) {
  expect((await browser.visit(url)).status).toBe(200);
  return browser.press(url);
}

async function show(id: string) {
  return (await scene.t.call("GET", `${path}/${id}`)).body;
}

describe("POST /v1/mcp-connections/:id/connect", () => {
  for (const form of ["a", "b"] as const) {
    test(`403 invalid_request: an API key, or no authUserId; 200 for a dashboard user (form ${form})`, async () => {
      const id = await made();
      expect((await connect(id, form)).status).toBe(200);
      const asKey = await scene.t.call("POST", `${path}/${id}/connect`, { form });
      expect([asKey.status, asKey.body.error.code]).toEqual([403, "invalid_request"]);
      const token = await jwt({ authUserId: undefined });
      const asNobody = await scene.t.call("POST", `${path}/${id}/connect`, { form, token });
      expect([asNobody.status, asNobody.body.error.code]).toEqual([403, "invalid_request"]);
    });

    const missingRow = form === "a" ? [500, "internal"] : [404, "not_found"];
    const unsuitableRow = form === "a" ? [500, "internal"] : [400, "mcp_connection_invalid"];
    test(`${missingRow.join(" ")} for a missing or foreign connection, ${unsuitableRow.join(" ")} for an unsuitable one (form ${form})`, async () => {
      scene.mcp.settings.accepts = null;
      const unsuitable = await made({ authType: "none" });
      const foreign = await made();
      await h.sql`update mcp_connections set tenant_id = ${(await h.tenant()).id} where id = ${foreign}`;
      const connected = await made();
      await h.sql`update mcp_connections set status = 'connected' where id = ${connected}`;
      const asked = [
        [`mcp_${"0".repeat(24)}`, missingRow],
        [foreign, missingRow],
        [unsuitable, unsuitableRow],
        [connected, unsuitableRow],
      ] as const;
      for (const [id, row] of asked) {
        const { status, body } = await connect(id, form);
        expect([id, status, body.error.code]).toEqual([id, ...row] as never);
      }
    });
  }

  test("400 validation_failed: a malformed id; 401 unauthorized: a JWT of no tenant", async () => {
    expect(statusAndCode(await connect("mcp_1", "b"))).toEqual([400, "validation_failed"]);
    const asked = await scene.t.call("POST", `${path}/${await made()}/connect`, { token: "a.b.c" });
    expect(statusAndCode(asked)).toEqual([401, "unauthorized"]);
  });
});

describe("a sign-in", () => {
  test("registers a client, proves itself with PKCE, names the resource, and connects", async () => {
    const id = await made({ scope: "read" });
    const end = await follow(await link(id));
    expect([end.status, end.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(end.text).toContain("Connected");
    const audited = (await scene.t.call("GET", `/v1/audit-events?resourceId=${id}`)).body.data;
    const actor = { type: "dashboard_user", id: expect.any(String) };
    expect(audited.slice(0, 2)).toEqual([
      expect.objectContaining({ action: "mcp_connection.sign_in", actor, requestId: null }),
      expect.objectContaining({ action: "mcp_connection.connect", actor }),
    ]);
    const authorize = new URL(end.visited[1] as string).searchParams;
    expect(Object.fromEntries(authorize)).toMatchObject({
      client_id: expect.stringMatching(/^dynamic-/),
      code_challenge_method: "S256",
      redirect_uri: "http://parley.test/connect/mcp-callback",
      resource: scene.mcp.url,
      scope: "read",
    });
    expect(await show(id)).toMatchObject({
      status: "connected",
      lastAuthErrorCode: null,
      oauthIssuer: scene.auth.issuer,
      oauthResource: scene.mcp.url,
      tokenExpiresAt: expect.stringMatching(/Z$/),
    });
    expect((await scene.t.call("POST", `${path}/${id}/test`)).body.ok).toBe(true);
  });

  test("uses the client that the tenant gave", async () => {
    const client = scene.auth.addClient(["http://parley.test/connect/mcp-callback"]);
    const id = await made(client);
    expect((await follow(await link(id))).status).toBe(200);
    expect(scene.auth.requests.some((request) => request.path === "/register")).toBe(false);
    expect(await show(id)).toMatchObject({ status: "connected", credentialFragment: client.clientSecret.slice(-4) });
  });

  test("a link and its state are good once", async () => {
    const url = await link(await made());
    const end = await follow(url);
    expect((await follow(url)).status).toBe(410);
    expect((await visit(end.visited.at(-1) as string)).status).toBe(400);
  });

  test("of two browsers in which a link's button is pressed, one gets through", async () => {
    const url = await link(await made());
    const presses = [1, 2, 3].map(() => new SignInBrowser(h.app).press(url));
    const statuses = (await Promise.all(presses)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([302, 410, 410]);
  });

  test("a link ends after ten minutes", async () => {
    const url = await link(await made());
    const [row] = await h.sql`select expires_at - now() as left from mcp_sign_ins order by expires_at desc limit 1`;
    expect(row?.left).toMatch(/^00:(10:00|09:5\d)/);
    await h.sql`update mcp_sign_ins set expires_at = now()`;
    expect((await visit(url)).status).toBe(410);
  });

  test("a made-up link is 410, a made-up state 400, and neither page says anything it was sent", async () => {
    const unknown = await visit("http://parley.test/connect/mcp/<script>alert(1)");
    const callback = await visit("http://parley.test/connect/mcp-callback?state=<script>&code=x&error=<script>");
    expect([unknown.status, callback.status]).toEqual([410, 400]);
    expect(unknown.text + callback.text).not.toContain("<script>");
    expect(unknown.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(unknown.headers.get("referrer-policy")).toBe("same-origin");
  });

  test("a person who refuses leaves the connection as it was", async () => {
    scene.auth.settings.refuses = true;
    const id = await made();
    const end = await follow(await link(id));
    expect([end.status, end.text.includes("access_denied")]).toEqual([400, true]);
    expect(await show(id)).toMatchObject({ status: "needs_auth", tokenExpiresAt: null });
  });

  test("a response in another server's name is refused", async () => {
    const step = await begin(await link(await made()));
    const back = await visit(step.location as string);
    const mixed = new URL(back.location as string);
    mixed.searchParams.set("iss", "https://elsewhere.test");
    expect((await visit(mixed.href)).status).toBe(400);
    expect(scene.auth.grants("authorization_code")).toBe(0);
  });

  test("names its document as the client's id where the server takes that", async () => {
    scene.auth.settings.metadata = { client_id_metadata_document_supported: true };
    const app = createApp({ ...h.ctx, publicUrl: "https://parley.test" });
    const pressed = { origin: "https://parley.test" };
    const begun = await new SignInBrowser(app).press(await link(await made()), pressed);
    const to = new URL(begun.headers.get("location") as string);
    const clientId = to.searchParams.get("client_id") as string;
    const document = await (await app(new Request(clientId.replace("https:", "http:")))).json();
    expect(document).toMatchObject({
      client_id: clientId,
      redirect_uris: [to.searchParams.get("redirect_uri")],
      token_endpoint_auth_method: "none",
    });
    expect(scene.auth.requests.some(({ path }) => path === "/register")).toBe(false);
  });

  test("metadata that name another issuer than where they were found are not used", async () => {
    scene.auth.settings.metadata = { issuer: "https://elsewhere.test" };
    const id = await made();
    const end = await follow(await link(id));
    expect([end.status, end.visited.length]).toEqual([502, 1]);
    expect(end.text).toContain("name another issuer");
    expect(scene.auth.requests.some(({ path }) => path === "/register")).toBe(false);
    expect(await show(id)).toMatchObject({ status: "needs_auth" });
  });

  test("a token with too few scopes leaves it needs_auth, and the next sign-in asks for those that were missing", async () => {
    const challenge = 'Bearer error="insufficient_scope", scope="files:write"';
    let hasScope = false;
    scene.mcp.settings.intercept = (request) => {
      if (new URL(request.url).pathname !== "/mcp" || request.headers.get("authorization") === null || hasScope)
        return null;
      return new Response("no", { status: 403, headers: { "www-authenticate": challenge } });
    };
    const id = await made({ scope: "read" });
    expect((await follow(await link(id))).text).toContain("more rights");
    expect(await show(id)).toMatchObject({
      status: "needs_auth",
      lastAuthErrorCode: "mcp_connection_authentication_failed",
    });
    hasScope = true;
    expect((await follow(await link(id))).status).toBe(200);
    const asked = scene.auth.requests
      .filter(({ path }) => path === "/authorize")
      .map(({ fields }) => fields.get("scope"));
    expect(asked).toEqual(["read", "read files:write"]);
    expect(await show(id)).toMatchObject({ status: "connected" });
  });

  test("a hostile authorization endpoint is nowhere to send a person to", async () => {
    scene.auth.settings.metadata = { authorization_endpoint: "ftp://elsewhere.test/authorize" };
    const end = await begin(await link(await made()));
    expect([end.status, end.location]).toEqual([502, null]);
  });

  test("an MCP server that is down ends in a page", async () => {
    const url = await link(await made());
    await scene.mcp.stop();
    expect((await begin(url)).status).toBe(502);
  });

  test("tokens that the MCP server refuses leave it needs_auth, with the code", async () => {
    scene.mcp.settings.accepts = () => false;
    const id = await made();
    expect((await follow(await link(id))).status).toBe(502);
    expect(await show(id)).toMatchObject({
      status: "needs_auth",
      lastAuthErrorCode: "mcp_connection_authentication_failed",
    });
  });

  test("a connection that was changed meanwhile keeps its new credentials", async () => {
    const id = await made();
    const step = await begin(await link(id));
    const back = await visit(step.location as string);
    const target = { url: scene.mcp.url, authType: "oauth_authorization_code", scope: "other" };
    expect((await scene.t.call("POST", `${path}/${id}/reconnect`, { body: target })).status).toBe(200);
    expect((await visit(back.location as string)).status).toBe(400);
    expect((await show(id)).status).toBe("needs_auth");
  });

  test("a deleted connection's link is 410; DELETE 204 revokes what a sign-in brought", async () => {
    const id = await made();
    const unused = await link(id);
    await follow(await link(id));
    expect((await scene.t.call("DELETE", `${path}/${id}`)).status).toBe(204);
    expect(scene.auth.revoked.map((token) => token.split("-")[0])).toEqual(["refresh", "access"]);
    expect((await visit(unused)).status).toBe(410);
  });

  test("after reconnect it can be signed in to again", async () => {
    const id = await made();
    await follow(await link(id));
    const target = { url: scene.mcp.url, authType: "oauth_authorization_code" };
    await scene.t.call("POST", `${path}/${id}/reconnect`, { body: target });
    expect((await follow(await link(id))).status).toBe(200);
    expect((await show(id)).status).toBe("connected");
  });
});

describe("tokens of a sign-in", () => {
  async function signedIn(): Promise<string> {
    const id = await made();
    expect((await follow(await link(id))).status).toBe(200);
    return id;
  }
  const testIt = async (id: string) => (await scene.t.call("POST", `${path}/${id}/test`)).body;

  test("are refreshed when they are refused, and the rotated refresh token is kept", async () => {
    const id = await signedIn();
    for (let round = 1; round <= 2; round++) {
      scene.auth.expireAccessTokens();
      expect((await testIt(id)).ok).toBe(true);
      expect(scene.auth.grants("refresh_token")).toBe(round);
    }
  });

  test("are refreshed before they end", async () => {
    scene.auth.settings.expiresInSeconds = 3;
    const id = await signedIn();
    await eventually(async () => {
      const [row] = await h.sql`select token_expires_at - now() < interval '150 milliseconds' as is_late
        from mcp_connections where id = ${id}`;
      return row?.isLate;
    });
    scene.auth.settings.expiresInSeconds = 3600;
    const refused = scene.mcp.tokens.length;
    expect((await testIt(id)).ok).toBe(true);
    expect([scene.auth.grants("refresh_token"), new Set(scene.mcp.tokens.slice(refused)).size]).toEqual([1, 1]);
  });

  test("that cannot be refreshed any more leave the connection needs_auth", async () => {
    const id = await signedIn();
    scene.auth.expireAccessTokens();
    scene.auth.forgetRefreshTokens();
    expect((await testIt(id)).error.code).toBe("mcp_connection_authentication_failed");
    expect(await show(id)).toMatchObject({ status: "needs_auth", tokenExpiresAt: null });
    // What was refused once is not sent again.
    expect((await testIt(id)).ok).toBe(false);
    expect(scene.auth.grants("refresh_token")).toBe(1);
  });

  test("survive an authorization server that is down for a while", async () => {
    const id = await signedIn();
    scene.auth.expireAccessTokens();
    scene.auth.settings.grantError = "temporarily_unavailable";
    expect((await testIt(id)).error.code).toBe("mcp_connection_unreachable");
    expect((await show(id)).status).toBe("error");
    scene.auth.settings.grantError = null;
    expect((await testIt(id)).ok).toBe(true);
  });
});
