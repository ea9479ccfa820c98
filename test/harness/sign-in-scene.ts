import { expect } from "bun:test";
import { SignJWT } from "jose";
import { AuthorizationServer } from "../servers/authorization.ts";
import { McpServer } from "../servers/mcp.ts";
import type { Harness, TestTenant } from "./harness.ts";
import { SignInBrowser } from "./sign-in-browser.ts";

/** The secret of dashboard JWTs of the services that these scenes play at (`DASHBOARD_JWT_SECRET`). */
export const dashboardSecret = "a secret of the dashboard, long enough";
const path = "/v1/mcp-connections";

/** A tenant, an MCP server that takes the tokens of an authorization server, and a person with a browser. */
export class SignInScene {
  readonly t: TestTenant;
  readonly mcp = new McpServer();
  readonly auth = new AuthorizationServer();
  readonly browser: SignInBrowser;
  #made = 0;

  private constructor(h: Harness, t: TestTenant) {
    this.t = t;
    this.browser = new SignInBrowser(h.app);
    this.mcp.settings.accepts = (token) => this.auth.isValid(token, this.mcp.url);
    this.mcp.settings.authorizationServer = this.auth.issuer;
  }

  static async open(h: Harness): Promise<SignInScene> {
    return new SignInScene(h, await h.tenant());
  }

  /** Makes a connection that waits for a sign-in. */
  async connection(fields: Record<string, unknown> = {}): Promise<string> {
    this.#made += 1;
    const body = { name: `c${this.#made}`, url: this.mcp.url, authType: "oauth_authorization_code", ...fields };
    const response = await this.t.call("POST", path, { body });
    expect([response.status, response.body]).toEqual([201, response.body]);
    return response.body.id;
  }

  /** Returns a link to sign in. */
  async link(id: string): Promise<string> {
    const token = await new SignJWT({ tenantId: this.t.id, authUserId: "user-1" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode(dashboardSecret));
    const { status, body } = await this.t.call("POST", `${path}/${id}/connect`, { token });
    expect([status, body]).toEqual([200, { url: expect.stringContaining("/connect/mcp/") }]);
    return body.url;
  }

  /** Opens a link and presses its button. */
  async begin(url: string) {
    expect((await this.browser.visit(url)).status).toBe(200);
    return this.browser.press(url);
  }

  /** Signs in from the link to the page at the end. */
  async signIn(id: string) {
    return this.browser.follow(await this.link(id));
  }

  async show(id: string) {
    return (await this.t.call("GET", `${path}/${id}`)).body;
  }

  async test(id: string) {
    return (await this.t.call("POST", `${path}/${id}/test`)).body;
  }

  async close(): Promise<void> {
    await Promise.all([this.mcp.stop(), this.auth.stop()]);
  }
}
