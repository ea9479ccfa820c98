import { describe, expect, test } from "bun:test";
import type { Ctx } from "../../../src/kernel/context.ts";
import { renewTokens } from "../../../src/mcp-connections/auth/tokens.ts";
import { getMcpConnection, type McpConnectionRow } from "../../../src/mcp-connections/store.ts";
import { eventually } from "../../harness/harness.ts";
import { useMcpWithOAuth } from "../../harness/mcp-fixture.ts";

const scene = await useMcpWithOAuth();
const { h } = scene;

async function connection(): Promise<McpConnectionRow> {
  const body = { name: "c", url: scene.mcp.url, authType: "oauth_client_credentials", ...scene.auth.addClient() };
  const response = await scene.t.call("POST", "/v1/mcp-connections", { body });
  return getMcpConnection(h.sql, scene.t.id, response.body.id);
}

/** Contexts as different processes have them: nothing in common but the database. */
function processes(count: number): Ctx[] {
  return Array.from({ length: count }, () => ({ ...h.ctx }));
}

const renewals = () => scene.auth.grants("client_credentials") - 1;

describe("renewing tokens", () => {
  test("five callers in five processes renew once", async () => {
    const row = await connection();
    const rejected = scene.mcp.tokens.at(-1) as string;
    scene.auth.settings.delayMs = 200;
    const tokens = await Promise.all(processes(5).map((ctx) => renewTokens(ctx, row, rejected)));
    expect([renewals(), new Set(tokens.map((token) => token.accessToken)).size]).toEqual([1, 1]);
    expect(tokens[0]?.accessToken).not.toBe(rejected);
  });

  test("five callers in one process renew once", async () => {
    const row = await connection();
    const rejected = scene.mcp.tokens.at(-1) as string;
    await Promise.all(Array.from({ length: 5 }, () => renewTokens(h.ctx, row, rejected)));
    expect(renewals()).toBe(1);
  });

  test("who comes late with a token that was replaced gets the new one", async () => {
    const row = await connection();
    const rejected = scene.mcp.tokens.at(-1) as string;
    const first = await renewTokens(h.ctx, row, rejected);
    expect(await renewTokens(h.ctx, row, rejected)).toEqual(first);
    expect(renewals()).toBe(1);
  });

  test("a process that died while it renewed holds nobody up for longer than its lease", async () => {
    const row = await connection();
    const [lease] = await h.sql<{ endsAt: Date }[]>`
      update mcp_connections set renewing_until = now() + interval '300 milliseconds' where id = ${row.id}
      returning renewing_until as ends_at`;
    await renewTokens(h.ctx, row, scene.mcp.tokens.at(-1) as string);
    expect(Date.now()).toBeGreaterThanOrEqual(lease?.endsAt.getTime() ?? Number.POSITIVE_INFINITY);
    expect(renewals()).toBe(1);
  });

  test("a renewal that was overtaken by a reconnect writes nothing", async () => {
    const row = await connection();
    const overtaken = Promise.withResolvers<void>();
    scene.auth.settings.until = overtaken.promise;
    const renewal = renewTokens(h.ctx, row, scene.mcp.tokens.at(-1) as string);
    await eventually(async () => {
      const [now] = await h.sql`select renewing_until from mcp_connections where id = ${row.id}`;
      return now?.renewingUntil !== null;
    });
    const target = { url: scene.mcp.url, authType: "oauth_authorization_code" };
    await scene.t.call("POST", `/v1/mcp-connections/${row.id}/reconnect`, { body: target });
    overtaken.resolve();
    await renewal;
    expect(await getMcpConnection(h.sql, scene.t.id, row.id)).toMatchObject({
      sealedTokens: null,
      status: "needs_auth",
    });
  });

  test("a renewal that fails lets the next one try", async () => {
    const row = await connection();
    scene.auth.settings.grantError = "temporarily_unavailable";
    const rejected = scene.mcp.tokens.at(-1) as string;
    const error = await renewTokens(h.ctx, row, rejected).catch((failure: Error) => failure);
    expect(error).toMatchObject({ code: "mcp_connection_unreachable" });
    scene.auth.settings.grantError = null;
    expect((await renewTokens(h.ctx, row, rejected)).accessToken).not.toBe(rejected);
  });
});
