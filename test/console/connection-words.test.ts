import { describe, expect, test } from "bun:test";
import type { McpConnection } from "parley/client";
import {
  authTypeText,
  signInHindrance,
  statusReason,
  targetOfForm,
} from "../../src/console/connections/connection-words.ts";

const connection: McpConnection = {
  ...{ id: "mcp_1", name: "Clock", url: "https://a.example/mcp", authType: "oauth_authorization_code" },
  ...{ status: "needs_auth", credentialFragment: "", lastAuthErrorCode: null, oauthIssuer: null },
  ...{ oauthResource: null, tokenExpiresAt: null, createdAt: "", updatedAt: "" },
};

describe("an MCP connection's form", () => {
  test("sends the fields of the chosen way to authenticate, without the empty ones", () => {
    const typed = { url: " https://a.example ", bearerToken: "t", clientId: " id ", clientSecret: "", scope: "read" };
    const sent = (authType: string) => targetOfForm({ ...typed, authType }) as object;
    expect(sent("none")).toEqual({ url: "https://a.example", authType: "none" });
    expect(sent("bearer")).toEqual({ url: "https://a.example", authType: "bearer", bearerToken: "t" });
    for (const authType of ["oauth_client_credentials", "oauth_authorization_code"])
      expect(sent(authType)).toEqual({ url: "https://a.example", authType, clientId: "id", scope: "read" });
  });

  test("names the ways to authenticate", () => {
    expect(authTypeText("bearer")).toBe("Bearer token");
    expect(authTypeText("of another release" as never)).toBe("of another release");
  });
});

describe("the status of an MCP connection", () => {
  test("has a reason, unless it works", () => {
    expect(statusReason(connection)).toBe("Somebody has to sign in.");
    expect(statusReason({ ...connection, lastAuthErrorCode: "mcp_connection_unreachable" })).toContain("reached");
    expect(statusReason({ ...connection, lastAuthErrorCode: "of another release" })).toBe("of another release");
    expect(statusReason({ ...connection, status: "connected" })).toBeNull();
  });

  test("says who can sign in, and when nobody has to", () => {
    expect(signInHindrance(connection, "ada")).toBeNull();
    expect(signInHindrance(connection, null)).toContain("dashboard token");
    expect(signInHindrance({ ...connection, status: "connected" }, "ada")).toContain("Nobody");
    expect(signInHindrance({ ...connection, authType: "bearer" }, "ada")).toContain("Nobody");
  });
});
