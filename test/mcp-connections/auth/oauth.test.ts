import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Form } from "../../../src/kernel/errors.ts";
import { useService } from "../../harness/fixture.ts";
import type { TestTenant } from "../../harness/harness.ts";
import { AuthorizationServer } from "../../servers/authorization.ts";
import { McpServer } from "../../servers/mcp.ts";

let t: TestTenant;
let mcp: McpServer;

const h = await useService();
beforeEach(async () => {
  t = await h.tenant();
  mcp = new McpServer();
});
afterEach(() => mcp.stop());

const path = "/v1/mcp-connections";
let names = 0;

function create(fields: Record<string, unknown> = {}, form: Form = "b") {
  names += 1;
  return t.call("POST", path, { form, body: { name: `c${names}`, url: mcp.url, authType: "none", ...fields } });
}

async function made(fields: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await create(fields);
  expect([status, body]).toEqual([201, body]);
  return body.id;
}

function codes(response: { status: number; body: { error: { code: string } } }) {
  return [response.status, response.body.error.code];
}

describe("oauth_client_credentials", () => {
  let auth: AuthorizationServer;
  beforeEach(() => {
    auth = new AuthorizationServer();
    mcp.settings.accepts = (token) => auth.isValid(token, mcp.url);
    mcp.settings.authorizationServer = auth.issuer;
  });
  afterEach(() => auth.stop());

  const withClient = () => ({ authType: "oauth_client_credentials", ...auth.addClient(), scope: "read write" });

  test("POST 201 connected: discovered, asked with scope and resource, connected", async () => {
    const client = withClient();
    const { status, body } = await create(client);
    expect([status, body]).toMatchObject([
      201,
      {
        status: "connected",
        credentialFragment: client.clientSecret.slice(-4),
        oauthIssuer: auth.issuer,
        oauthResource: mcp.url,
        tokenExpiresAt: expect.stringMatching(/Z$/),
      },
    ]);
    const asked = auth.requests.find((request) => request.path === "/token")?.fields;
    expect([asked?.get("scope"), asked?.get("resource")]).toEqual(["read write", mcp.url]);
  });

  test("POST 201 without any metadata: the server is its own authorization server", async () => {
    mcp.settings.authorizationServer = null;
    mcp.settings.intercept = (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/token") return null as never;
      return fetch(`${auth.issuer}/token`, { method: "POST", headers: request.headers, body: request.body });
    };
    expect((await create(withClient())).status).toBe(201);
  });

  test("POST 400 mcp_connection_authentication_failed for a wrong secret", async () => {
    const response = await create({ ...withClient(), clientSecret: "wrong-secret-0000" });
    expect(codes(response as never)).toEqual([400, "mcp_connection_authentication_failed"]);
    expect(response.body.error.message).not.toContain("as the test wants it");
  });

  test("POST 400 mcp_connection_discovery_failed when the metadata describe another resource", async () => {
    mcp.settings.intercept = (request) =>
      new URL(request.url).pathname.startsWith("/.well-known/oauth-protected-resource")
        ? Response.json({ resource: "https://elsewhere.test/mcp", authorization_servers: [auth.issuer] })
        : (null as never);
    expect(codes((await create(withClient())) as never)).toEqual([400, "mcp_connection_discovery_failed"]);
    expect(auth.grants("client_credentials")).toBe(0);
  });

  test("POST 400 mcp_connection_invalid when the metadata name an address that may not be called", async () => {
    auth.settings.metadata = { token_endpoint: "http://user:password@127.0.0.1/token" };
    expect(codes((await create(withClient())) as never)).toEqual([400, "mcp_connection_invalid"]);
  });

  test("POST 400 mcp_connection_unreachable when the authorization server is slow", async () => {
    auth.settings.delayMs = 9_000;
    expect(codes((await create(withClient())) as never)).toEqual([400, "mcp_connection_unreachable"]);
  });

  test("test 200 renews a token that has ended", async () => {
    const id = await made(withClient());
    auth.expireAccessTokens();
    expect((await t.call("POST", `${path}/${id}/test`)).body.ok).toBe(true);
    expect(auth.grants("client_credentials")).toBe(2);
  });

  test("DELETE 204 revokes the token", async () => {
    const id = await made(withClient());
    const token = mcp.tokens.at(-1) as string;
    expect((await t.call("DELETE", `${path}/${id}`)).status).toBe(204);
    expect([auth.revoked, auth.isValid(token, mcp.url)]).toEqual([[expect.stringMatching(/^access-/)], false]);
  });

  test("DELETE 204 though the authorization server is gone", async () => {
    const id = await made(withClient());
    await auth.stop();
    expect((await t.call("DELETE", `${path}/${id}`)).status).toBe(204);
  });
});
