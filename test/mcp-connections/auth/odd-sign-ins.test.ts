import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { useService } from "../../harness/fixture.ts";
import { dashboardSecret, SignInScene } from "../../harness/sign-in-scene.ts";

/** Documents as authorization servers were seen to send them, in the field. */
const h = await useService({ env: { DASHBOARD_JWT_SECRET: dashboardSecret } });
let s: SignInScene;
beforeEach(async () => {
  s = await SignInScene.open(h);
});
afterEach(() => s.close());

async function connected(): Promise<string> {
  const id = await s.connection();
  const end = await s.signIn(id);
  expect([end.status, end.text.includes("Connected"), end.text]).toEqual([200, true, end.text]);
  return id;
}

describe("the lifetime of a token", () => {
  for (const expires_in of [null, "", 0, -1, "never", true, {}, 1e300, undefined])
    test(`of ${JSON.stringify(expires_in)} is not known: the token is used until it is refused`, async () => {
      s.auth.settings.token = { expires_in, refresh_token: null };
      const id = await connected();
      expect((await s.show(id)).tokenExpiresAt).toBeNull();
      for (let round = 0; round < 2; round++) expect((await s.test(id)).ok).toBe(true);
      s.auth.expireAccessTokens();
      expect((await s.test(id)).error.code).toBe("mcp_connection_authentication_failed");
    });

  for (const expires_in of ["3600", 3600.5, "3600.0"])
    test(`of ${JSON.stringify(expires_in)} is a number`, async () => {
      s.auth.settings.token = { expires_in };
      const { tokenExpiresAt } = await s.show(await connected());
      expect(Date.parse(tokenExpiresAt) - Date.now()).toBeGreaterThan(3_500_000);
    });

  test("is renewed where a refusal comes and a refresh token is there, whatever was said of it", async () => {
    s.auth.settings.token = { expires_in: null };
    const id = await connected();
    s.auth.expireAccessTokens();
    expect((await s.test(id)).ok).toBe(true);
    expect(s.auth.grants("refresh_token")).toBe(1);
  });
});

describe("a token answer", () => {
  const fine: [string, object][] = [
    ["without a type", { token_type: undefined }],
    ["with a type of another name", { token_type: "bot" }],
    ["with scope: null", { scope: null }],
    ["with scope as a list", { scope: ["a", "b"] }],
    [
      "with wrong types of what is not used",
      { scope: 7, id_token: false, ok: true, error: null, refresh_token_expires_in: "" },
    ],
    ["with spaces around the token", (token: string) => ({ access_token: ` ${token}\n` })],
    [
      "with the tokens of a person in an object",
      (token: string) => ({ access_token: undefined, ok: true, authed_user: { access_token: token } }),
    ],
  ] as [string, object][];
  for (const [what, fields] of fine)
    test(`${what} connects`, async () => {
      s.auth.settings.token = fields as never;
      expect((await s.test(await connected())).ok).toBe(true);
    });

  test("as a form connects", async () => {
    s.auth.settings.tokenAsForm = true;
    expect((await s.test(await connected())).ok).toBe(true);
  });

  const refused: [string, object | (() => Response), readonly string[]][] = [
    ["without a token", { access_token: undefined }, ["token answer", "`access_token` is missing"]],
    ["with one that is null", { access_token: null }, ["token answer", "`access_token` is missing"]],
    ["with one that is a number", { access_token: 7 }, ["token answer", "`access_token` is no text"]],
    ["with one that no header takes", { access_token: "sécret" }, ["token answer", "`access_token` holds characters"]],
    ["that is a web page", () => new Response("<html>"), ["token answer", "no object of JSON"]],
    [
      "that is an error with status 200",
      { access_token: undefined, error: "bad_verification_code" },
      ["invalid_grant"],
    ],
    [
      "that is an error in an object",
      { access_token: undefined, error: { message: "secret" } },
      ["refused", "unknown"],
    ],
  ];
  for (const [what, fields, words] of refused)
    test(`${what} is refused by the name of server and field`, async () => {
      if (typeof fields === "function") s.auth.settings.answer = { path: "/token", with: fields as () => Response };
      else s.auth.settings.token = fields;
      const id = await s.connection();
      const end = await s.signIn(id);
      expect(end.status).toBe(502);
      for (const word of ["The authorization server", ...words]) expect(end.text).toContain(word);
      for (const secret of ["secret", "sécret"]) expect(end.text).not.toContain(secret);
      expect((await s.show(id)).status).toBe("needs_auth");
    });
});

describe("a registration", () => {
  const fine: [string, object][] = [
    ["with nulls", { client_secret: null, client_secret_expires_at: null, scope: null, logo_uri: null, jwks: null }],
    ["with empty addresses", { client_uri: "", logo_uri: "", tos_uri: "", policy_uri: "", jwks_uri: "" }],
    ["with wrong types of what is not used", { redirect_uris: null, grant_types: "code", scope: [], contacts: "" }],
    ["with a method that nobody knows", { token_endpoint_auth_method: "private_key_jwt" }],
    ["with a method that needs a secret, and none", { token_endpoint_auth_method: "client_secret_basic" }],
    ["with an empty secret", { client_secret: "" }],
  ];
  for (const [what, fields] of fine)
    test(`${what} connects`, async () => {
      s.auth.settings.registration = fields;
      await connected();
    });

  const refused: [string, object | (() => Response), readonly string[]][] = [
    ["without an id", { client_id: null }, ["registration answer", "`client_id` is missing"]],
    ["with an id that is an object", { client_id: {} }, ["registration answer", "`client_id` is no text"]],
    ["that is a web page", () => new Response("<html>"), ["registration answer", "no object of JSON"]],
    [
      "that is refused with a code",
      () => Response.json({ error: "invalid_redirect_uri", error_description: "secret" }, { status: 400 }),
      ["refused to register", "invalid_redirect_uri"],
    ],
    ["that is refused without one", () => new Response("secret", { status: 422 }), ["HTTP 422"]],
  ];
  for (const [what, answer, words] of refused)
    test(`${what} is refused by the name of server and field`, async () => {
      if (typeof answer === "function") s.auth.settings.answer = { path: "/register", with: answer as () => Response };
      else s.auth.settings.registration = answer;
      const end = await s.signIn(await s.connection());
      expect(end.status).toBe(502);
      for (const word of ["The authorization server", ...words]) expect(end.text).toContain(word);
      expect(end.text).not.toContain("secret");
    });
});

describe("metadata", () => {
  const fine: [string, object][] = [
    ["with nulls", { scopes_supported: null, jwks_uri: null, code_challenge_methods_supported: null }],
    ["with lists that are null", { response_types_supported: null, token_endpoint_auth_methods_supported: null }],
    ["with empty addresses", { service_documentation: "", op_policy_uri: "", op_tos_uri: "", revocation_endpoint: "" }],
    [
      "with wrong types of what is not used",
      { service_documentation: 7, scopes_supported: {}, ui_locales_supported: "" },
    ],
    ["with lists that hold other things", { response_types_supported: ["code", null, 7] }],
    ["with an address that is none where it is not needed", { revocation_endpoint: "none", jwks_uri: "none" }],
  ];
  for (const [what, fields] of fine)
    test(`${what} connects`, async () => {
      s.auth.settings.odd = fields;
      await connected();
    });

  test("whose issuer ends in a slash where its address has none connects", async () => {
    s.auth.settings.odd = { issuer: `${s.auth.issuer}/`, authorization_response_iss_parameter_supported: false };
    s.auth.settings.iss = `${s.auth.issuer}/`;
    await connected();
  });

  test("behind a page that is served for every address are looked for further", async () => {
    s.auth.settings.answer = {
      path: "/.well-known/oauth-authorization-server",
      with: () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
    };
    await connected();
  });

  const refused: [string, object, readonly string[]][] = [
    ["without a token endpoint", { token_endpoint: null }, ["metadata", "`token_endpoint` is missing"]],
    ["with one that is no address", { token_endpoint: "none" }, ["metadata", "`token_endpoint` is no http"]],
    ["without an endpoint to sign in", { authorization_endpoint: "" }, ["`authorization_endpoint` is missing"]],
    ["without registration", { registration_endpoint: null }, ["`registration_endpoint` is missing"]],
    ["without an issuer", { issuer: null }, ["metadata", "`issuer` is missing"]],
    ["without codes", { response_types_supported: ["token"] }, ["`response_types_supported`", "`code`"]],
    ["without S256", { code_challenge_methods_supported: ["plain"] }, ["`code_challenge_methods_supported`", "`S256`"]],
  ];
  for (const [what, fields, words] of refused)
    test(`${what} are refused by the name of server and field`, async () => {
      s.auth.settings.odd = fields;
      const end = await s.signIn(await s.connection());
      expect(end.status).toBe(502);
      for (const word of ["The authorization server", ...words]) expect(end.text).toContain(word);
    });

  const ofResource: [string, (issuer: string) => object][] = [
    ["one server in place of a list", (issuer) => ({ authorization_servers: issuer })],
    ["servers that are none beside it", (issuer) => ({ authorization_servers: [null, "none", issuer] })],
    [
      "nulls",
      (issuer) => ({ authorization_servers: [issuer], resource: null, scopes_supported: null, jwks_uri: null }),
    ],
  ];
  for (const [what, fields] of ofResource)
    test(`of the resource with ${what} connect`, async () => {
      s.mcp.settings.intercept = (request) =>
        request.url.includes("oauth-protected-resource")
          ? Response.json({ resource: s.mcp.url, ...fields(s.auth.issuer) })
          : null;
      await connected();
    });

  test("of the resource that name no address are refused by their name", async () => {
    s.mcp.settings.intercept = (request) =>
      request.url.includes("oauth-protected-resource")
        ? Response.json({ resource: s.mcp.url, authorization_servers: [7, "none"] })
        : null;
    const end = await s.signIn(await s.connection());
    expect(end.text).toContain("The MCP server&#39;s resource metadata: `authorization_servers` holds no URL");
  });
});
