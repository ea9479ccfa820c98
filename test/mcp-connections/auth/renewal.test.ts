import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Ctx } from "../../../src/kernel/context.ts";
import { renewTokens } from "../../../src/mcp-connections/auth/tokens.ts";
import { getMcpConnection, type McpConnectionRow } from "../../../src/mcp-connections/store.ts";
import { useService } from "../../harness/fixture.ts";
import { eventually, type TestTenant } from "../../harness/harness.ts";
import { AuthorizationServer } from "../../servers/authorization.ts";
import { McpServer } from "../../servers/mcp.ts";

let t: TestTenant;
let mcp: McpServer;
let auth: AuthorizationServer;

const h = await useService();
beforeEach(async () => {
  t = await h.tenant();
  mcp = new McpServer();
  auth = new AuthorizationServer();
  mcp.settings.accepts = (token) => auth.isValid(token, mcp.url);
  mcp.settings.authorizationServer = auth.issuer;
});
afterEach(async () => {
  await mcp.stop();
  await auth.stop();
});

async function connection(): Promise<McpConnectionRow> {
  const body = { name: "c", url: mcp.url, authType: "oauth_client_credentials", ...auth.addClient() };
  const response = await t.call("POST", "/v1/mcp-connections", { body });
  return getMcpConnection(h.sql, t.id, response.body.id);
}

/** Contexts as different processes have them: nothing in common but the database. */
function processes(count: number): Ctx[] {
  return Array.from({ length: count }, () => ({ ...h.ctx }));
}

const renewals = () => auth.grants("client_credentials") - 1;

describe("renewing tokens", () => {
  test("five callers in five processes renew once", async () => {
    const row = await connection();
    const rejected = mcp.tokens.at(-1) as string;
    auth.settings.delayMs = 200;
    const tokens = await Promise.all(processes(5).map((ctx) => renewTokens(ctx, row, rejected)));
    expect([renewals(), new Set(tokens.map((token) => token.accessToken)).size]).toEqual([1, 1]);
    expect(tokens[0]?.accessToken).not.toBe(rejected);
  });

  test("five callers in one process renew once", async () => {
    const row = await connection();
    const rejected = mcp.tokens.at(-1) as string;
    await Promise.all(Array.from({ length: 5 }, () => renewTokens(h.ctx, row, rejected)));
    expect(renewals()).toBe(1);
  });

  test("who comes late with a token that was replaced gets the new one", async () => {
    const row = await connection();
    const rejected = mcp.tokens.at(-1) as string;
    const first = await renewTokens(h.ctx, row, rejected);
    expect(await renewTokens(h.ctx, row, rejected)).toEqual(first);
    expect(renewals()).toBe(1);
  });

  test("a process that died while it renewed holds nobody up for longer than its lease", async () => {
    const row = await connection();
    await h.sql`update mcp_connections set renewing_until = now() + interval '300 milliseconds' where id = ${row.id}`;
    const renewal = renewTokens(h.ctx, row, mcp.tokens.at(-1) as string);
    expect(renewals()).toBe(0);
    await renewal;
    expect(renewals()).toBe(1);
  });

  test("a renewal that was overtaken by a reconnect writes nothing", async () => {
    const row = await connection();
    const overtaken = Promise.withResolvers<void>();
    auth.settings.until = overtaken.promise;
    const renewal = renewTokens(h.ctx, row, mcp.tokens.at(-1) as string);
    await eventually(async () => {
      const [now] = await h.sql`select renewing_until from mcp_connections where id = ${row.id}`;
      return now?.renewingUntil !== null;
    });
    const target = { url: mcp.url, authType: "oauth_authorization_code" };
    await t.call("POST", `/v1/mcp-connections/${row.id}/reconnect`, { body: target });
    overtaken.resolve();
    await renewal;
    expect(await getMcpConnection(h.sql, t.id, row.id)).toMatchObject({ sealedTokens: null, status: "needs_auth" });
  });

  test("a renewal that fails lets the next one try", async () => {
    const row = await connection();
    auth.settings.grantError = "temporarily_unavailable";
    const rejected = mcp.tokens.at(-1) as string;
    const error = await renewTokens(h.ctx, row, rejected).catch((failure: Error) => failure);
    expect(error).toMatchObject({ code: "mcp_connection_unreachable" });
    auth.settings.grantError = null;
    expect((await renewTokens(h.ctx, row, rejected)).accessToken).not.toBe(rejected);
  });
});
