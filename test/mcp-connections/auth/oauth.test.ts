import { describe, expect, test } from "bun:test";
import { useMcpWithOAuth } from "../../harness/mcp-fixture.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";

const scene = await useMcpWithOAuth();
const { create, made } = scene;

const path = "/v1/mcp-connections";

describe("oauth_client_credentials", () => {
  const withClient = () => ({ authType: "oauth_client_credentials", ...scene.auth.addClient(), scope: "read write" });

  test("POST 201 connected: discovered, asked with scope and resource, connected", async () => {
    const client = withClient();
    const { status, body } = await create(client);
    expect([status, body]).toMatchObject([
      201,
      {
        status: "connected",
        credentialFragment: client.clientSecret.slice(-4),
        oauthIssuer: scene.auth.issuer,
        oauthResource: scene.mcp.url,
        tokenExpiresAt: expect.stringMatching(/Z$/),
      },
    ]);
    const asked = scene.auth.requests.find((request) => request.path === "/token")?.fields;
    expect([asked?.get("scope"), asked?.get("resource")]).toEqual(["read write", scene.mcp.url]);
  });

  test("POST 201 without any metadata: the server is its own authorization server", async () => {
    scene.mcp.settings.authorizationServer = null;
    scene.mcp.settings.intercept = (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/token") return null as never;
      return fetch(`${scene.auth.issuer}/token`, { method: "POST", headers: request.headers, body: request.body });
    };
    expect((await create(withClient())).status).toBe(201);
  });

  test("400 mcp_connection_authentication_failed: a wrong secret", async () => {
    const response = await create({ ...withClient(), clientSecret: "wrong-secret-0000" });
    expect(statusAndCode(response)).toEqual([400, "mcp_connection_authentication_failed"]);
    expect(response.body.error.message).not.toContain("as the test wants it");
  });

  test("400 mcp_connection_discovery_failed: the metadata describe another resource", async () => {
    scene.mcp.settings.intercept = (request) =>
      new URL(request.url).pathname.startsWith("/.well-known/oauth-protected-resource")
        ? Response.json({ resource: "https://elsewhere.test/mcp", authorization_servers: [scene.auth.issuer] })
        : (null as never);
    expect(statusAndCode(await create(withClient()))).toEqual([400, "mcp_connection_discovery_failed"]);
    expect(scene.auth.grants("client_credentials")).toBe(0);
  });

  test("400 mcp_connection_invalid: the metadata name an address that may not be called", async () => {
    scene.auth.settings.metadata = { token_endpoint: "http://user:password@127.0.0.1/token" };
    expect(statusAndCode(await create(withClient()))).toEqual([400, "mcp_connection_invalid"]);
  });

  test("400 mcp_connection_unreachable: the authorization server is slow", async () => {
    scene.auth.settings.delayMs = 9_000;
    expect(statusAndCode(await create(withClient()))).toEqual([400, "mcp_connection_unreachable"]);
  });

  test("test 200 renews a token that has ended", async () => {
    const id = await made(withClient());
    scene.auth.expireAccessTokens();
    expect((await scene.t.call("POST", `${path}/${id}/test`)).body.ok).toBe(true);
    expect(scene.auth.grants("client_credentials")).toBe(2);
  });

  test("DELETE 204 revokes the token", async () => {
    const id = await made(withClient());
    const token = scene.mcp.tokens.at(-1) as string;
    expect((await scene.t.call("DELETE", `${path}/${id}`)).status).toBe(204);
    expect([scene.auth.revoked, scene.auth.isValid(token, scene.mcp.url)]).toEqual([
      [expect.stringMatching(/^access-/)],
      false,
    ]);
  });

  test("DELETE 204 though the authorization server is gone", async () => {
    const id = await made(withClient());
    await scene.auth.stop();
    expect((await scene.t.call("DELETE", `${path}/${id}`)).status).toBe(204);
  });
});
