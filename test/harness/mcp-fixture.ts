import { afterEach, beforeEach, expect } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import { AuthorizationServer } from "../servers/authorization.ts";
import { McpServer } from "../servers/mcp.ts";
import { useService } from "./fixture.ts";
import type { ApiResponse, Harness, HarnessOptions, TestTenant } from "./harness.ts";

/** What the running test has: a tenant and a server of tools. */
export interface McpScene {
  readonly h: Harness;
  t: TestTenant;
  mcp: McpServer;
  /** Asks for a connection to the server. Its name is a new one where `fields` has none. */
  readonly create: (fields?: Record<string, unknown>, form?: Form) => Promise<ApiResponse>;
  /** Returns the id of a connection, which must be made. */
  readonly made: (fields?: Record<string, unknown>) => Promise<string>;
}

/** Starts the service, and for each test a tenant and an MCP server. */
export async function useMcp(options: HarnessOptions = {}): Promise<McpScene> {
  const h = await useService(options);
  let names = 0;
  const create = (fields: Record<string, unknown> = {}, form: Form = "b") => {
    names += 1;
    const body = { name: `c${names}`, url: scene.mcp.url, authType: "none", ...fields };
    return scene.t.call("POST", "/v1/mcp-connections", { form, body });
  };
  const made = async (fields: Record<string, unknown> = {}) => {
    const { status, body } = await create(fields);
    expect([status, body]).toEqual([201, body]);
    return body.id;
  };
  const scene = { h, create, made } as McpScene;
  beforeEach(async () => {
    scene.t = await h.tenant();
    scene.mcp = new McpServer();
  });
  afterEach(() => scene.mcp.stop());
  return scene;
}

/** As `useMcp`, with an MCP server that takes nothing but tokens of an authorization server. */
export async function useMcpWithOAuth(options: HarnessOptions = {}): Promise<McpScene & { auth: AuthorizationServer }> {
  const scene = (await useMcp(options)) as McpScene & { auth: AuthorizationServer };
  beforeEach(() => {
    scene.auth = new AuthorizationServer();
    scene.mcp.settings.accepts = (token) => scene.auth.isValid(token, scene.mcp.url);
    scene.mcp.settings.authorizationServer = scene.auth.issuer;
  });
  afterEach(() => scene.auth.stop());
  return scene;
}
