import { afterEach, describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { createApiKey } from "../../src/apikeys/store.ts";
import { createLink, pageSessionsMax, sweepConsole } from "../../src/console-server/store.ts";
import { guessesMax } from "../../src/kernel/auth/guess-limit.ts";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { consoleOrigin, forgetGuesses, pageOf, signInToConsole, tryToSignIn } from "../harness/console-page.ts";
import { useAgent } from "../harness/fixture.ts";
import { inProcess } from "../harness/runtimes.ts";
import { userMessage } from "../harness/seed.ts";

const secret = "a secret of the dashboard";
const operatorToken = "operator-token-of-the-tests";
const env = { CONSOLE: "1", OPERATOR_TOKEN: operatorToken, DASHBOARD_JWT_SECRET: secret };
const { h, t, agentId } = await useAgent({ env, worker: true });

const jwt = (claims: object, expiresIn: string | number = "1h") =>
  new SignJWT({ tenantId: t.id, ...claims })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime(expiresIn)
    .sign(new TextEncoder().encode(secret));

/** Moves the times of all sessions into the past. */
const moveSessions = (change: { used?: string; expires?: string }) => h.sql`
  update console_sessions set used_at = used_at - ${change.used ?? "0"}::interval, expires_at = expires_at - ${change.expires ?? "0"}::interval`;

afterEach(forgetGuesses);

describe("signing in", () => {
  test("with an API key makes a session, whose cookie no script and no other path sees", async () => {
    const response = await tryToSignIn(h.app, { apiKey: t.token });
    expect(response.status).toBe(200);
    const cookie = response.headers.get("set-cookie") as string;
    expect(cookie).toMatch(
      /^parley_console=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/console; Max-Age=4\d{4}$/,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { principal, csrfToken, expiresAt, idleSeconds } = response.body;
    const [key] = (await t.parley.apiKeys.list()).apiKeys;
    expect(principal).toEqual({
      kind: "tenant",
      tenantId: t.id,
      tenantName: "Test",
      keyId: key?.id,
      keyName: "test",
      userId: null,
      memberId: null,
      role: "admin",
      agentIds: null,
    });
    expect([csrfToken.length, idleSeconds]).toEqual([43, 3600]);
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    const page = pageOf(h.app, cookie.split(";", 1)[0] as string, response.body);
    expect((await page.call("GET", "/session")).body).toEqual(response.body);
  });

  test("takes `token` and a bearer too, and one credential only", async () => {
    expect((await tryToSignIn(h.app, { token: t.token })).status).toBe(200);
    expect((await tryToSignIn(h.app, undefined, { authorization: `Bearer ${t.token}` })).status).toBe(200);
    for (const body of [{}, { apiKey: t.token, token: t.token }, { apiKey: 1 }, { key: t.token }, [], "{"])
      expect((await tryToSignIn(h.app, body)).status).toBe(400);
    expect((await tryToSignIn(h.app, { apiKey: "x".repeat(20_000) })).status).toBe(413);
  });

  test("neither the cookie nor the credential is stored", async () => {
    const { cookie } = await signInToConsole(h.app, { apiKey: t.token });
    const rows =
      await h.sql`select console_sessions::text as row, encode(locked_credential, 'escape') as locked from console_sessions`;
    const stored = JSON.stringify(rows);
    expect(stored).not.toContain(cookie.split("=")[1]);
    expect(stored).not.toContain(t.token);
    expect(stored).not.toContain(Buffer.from(t.token).toString("hex"));
  });

  test.skipIf(!inProcess)(
    "429 rate_limited: after many wrong credentials within a minute; who has a key or the operator's token still signs in",
    async () => {
      const wrong = () => tryToSignIn(h.app, { apiKey: "not-the-operator-token" });
      const statuses: number[] = [];
      for (let count = 0; count < guessesMax + 2; count++) statuses.push((await wrong()).status);
      // Others of this minute may have been wrong before.
      expect([statuses.slice(0, 5), statuses.slice(-2)]).toEqual([Array<number>(5).fill(401), [429, 429]]);
      const refused = await wrong();
      expect([refused.body.error.code, Number(refused.headers.get("retry-after")) > 0]).toEqual(["rate_limited", true]);
      expect((await tryToSignIn(h.app, { token: operatorToken })).status).toBe(200);
      expect((await tryToSignIn(h.app, { apiKey: t.token })).status).toBe(200);
      for (let count = 0; count < guessesMax + 4; count++) await h.ctx.guesses.forgive("unknown");
      expect((await wrong()).status).toBe(401);
    },
  );

  test("with a dashboard JWT ends with it", async () => {
    const expiry = Math.floor(Date.now() / 1000) + 600;
    const page = await signInToConsole(h.app, { token: await jwt({ authUserId: "anna" }, expiry) });
    expect(page.session.principal).toMatchObject({ kind: "tenant", keyId: null, userId: "anna" });
    expect(Date.parse(page.session.expiresAt)).toBe(expiry * 1000);
    expect((await tryToSignIn(h.app, { token: await jwt({}, expiry - 1_000) })).status).toBe(401);
  });

  test("403 foreign_request: from a foreign page", async () => {
    const foreign = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of foreign) {
      const response = await tryToSignIn(h.app, { apiKey: t.token }, headers);
      expect([response.status, response.body.error.code]).toEqual([403, "foreign_request"]);
    }
    const atAnotherName = { origin: "http://localhost:8080", host: "localhost:8080" };
    expect((await tryToSignIn(h.app, { apiKey: t.token }, atAnotherName)).status).toBe(200);
  });

  test("again ends the session before", async () => {
    const first = await signInToConsole(h.app, { apiKey: t.token });
    expect((await tryToSignIn(h.app, { apiKey: t.token }, { cookie: first.cookie })).status).toBe(200);
    expect((await first.call("GET", "/session")).status).toBe(401);
  });

  test("leaves an audit event", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const { data } = await t.parley.auditEvents.list({ action: "console_session.create", limit: 1 });
    expect(data[0]?.actor).toEqual({ type: "api_key", id: page.session.principal.keyId });
  });

  test("a tenant has so many sessions, then the oldest ends", async () => {
    const other = await h.tenant();
    const first = await signInToConsole(h.app, { apiKey: other.token });
    for (let count = 1; count < pageSessionsMax; count++) await signInToConsole(h.app, { apiKey: other.token });
    expect((await first.call("GET", "/session")).status).toBe(200);
    await signInToConsole(h.app, { apiKey: other.token });
    expect((await first.call("GET", "/session")).status).toBe(401);
  });
});

describe("a link", () => {
  test("signs in once, also when it is used several times at once", async () => {
    const code = await createLink(h.sql, t.id, t.token);
    const uses = await Promise.all(Array.from({ length: 5 }, () => tryToSignIn(h.app, { code })));
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
    expect((await tryToSignIn(h.app, { code })).status).toBe(401);
  });

  test("is too old after ten minutes", async () => {
    const code = await createLink(h.sql, t.id, t.token);
    await h.sql`update console_links set expires_at = expires_at - interval '10 minutes'`;
    expect((await tryToSignIn(h.app, { code })).status).toBe(401);
    await sweepConsole(h.sql);
    expect(await h.sql`select 1 from console_links`).toHaveLength(0);
  });
});

describe("a session ends", () => {
  test("when its page signs out, and the cookie with it", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const ended = await page.call("POST", "/logout");
    expect(ended.status).toBe(204);
    expect(ended.headers.get("set-cookie")).toBe(
      "parley_console=; HttpOnly; SameSite=Strict; Path=/console; Max-Age=0",
    );
    expect((await page.call("GET", "/agents")).status).toBe(401);
  });

  test("an hour after its last use, and twelve after its beginning", async () => {
    const idle = await signInToConsole(h.app, { apiKey: t.token });
    await moveSessions({ used: "55 minutes" });
    expect((await idle.call("GET", "/session")).status).toBe(200);
    await moveSessions({ used: "55 minutes" });
    expect((await idle.call("GET", "/session")).status).toBe(200);
    await moveSessions({ used: "61 minutes" });
    expect((await idle.call("GET", "/session")).status).toBe(401);
    const old = await signInToConsole(h.app, { apiKey: t.token });
    await moveSessions({ expires: "11 hours 59 minutes" });
    expect((await old.call("GET", "/session")).status).toBe(200);
    await moveSessions({ expires: "1 minute" });
    expect((await old.call("GET", "/session")).status).toBe(401);
    await sweepConsole(h.sql);
    expect(await h.sql`select 1 from console_sessions`).toHaveLength(0);
  });

  test("with its API key", async () => {
    const { token, apiKey } = await createApiKey(h.sql, t.id, "another", null);
    const page = await signInToConsole(h.app, { apiKey: token });
    expect((await page.call("GET", "/agents")).status).toBe(200);
    await t.parley.apiKeys.delete(apiKey.id);
    expect((await page.call("GET", "/agents")).status).toBe(401);
    expect((await page.call("GET", "/session")).status).toBe(401);
  });

  test("with its tenant, and while that is suspended each request is 402", async () => {
    const other = await h.tenant();
    const page = await signInToConsole(h.app, { apiKey: other.token });
    await h.sql`update tenants set subscription = 'inactive' where id = ${other.id}`;
    expect((await page.call("GET", "/agents")).status).toBe(402);
    expect((await page.call("GET", "/session")).status).toBe(402);
    expect((await tryToSignIn(h.app, { apiKey: other.token })).status).toBe(402);
    await h.sql`update tenants set subscription = 'active' where id = ${other.id}`;
    expect(await deleteTenant(h.sql, other.id)).toBe("ended");
    expect((await page.call("GET", "/agents")).status).toBe(401);
    expect(await h.sql`select 1 from console_sessions where tenant_id = ${other.id}`).toHaveLength(0);
  });
});

describe("requests of the page", () => {
  test("are the operations of the interface, as the same principal", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const own = await t.call("GET", `/v1/agents/${agentId}`);
    const shown = await page.call("GET", `/agents/${agentId}`);
    expect([shown.status, shown.body]).toEqual([200, own.body]);
    expect(shown.headers.get("api-form")).toBe("b");
    const made = await page.call("POST", "/prompts", { body: { name: "From the console", template: "Hello" } });
    expect(made.status).toBe(201);
    const [event] = (await t.parley.auditEvents.list({ action: "prompt.create", limit: 1 })).data;
    expect(event).toMatchObject({ actor: { type: "api_key", id: page.session.principal.keyId } });
    expect(event?.requestId).toBe(made.headers.get("x-request-id") as string);
  });

  test("have the interface's errors, with one request id", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    for (const [method, path, body] of [
      ["GET", "/agents/ag_000000000000000000000000", undefined],
      ["POST", "/agents", { name: "" }],
      ["GET", "/nothing-of-that-name", undefined],
      ["DELETE", "/usage", undefined],
    ] as const) {
      const own = await t.call(method, `/v1${path}`, { body });
      const shown = await page.call(method, path, { body });
      expect([shown.status, shown.body.error.code]).toEqual([own.status, own.body.error.code]);
      expect(shown.body.error.requestId).toBe(shown.headers.get("x-request-id"));
    }
  });

  test("speak form B unless they ask for A", async () => {
    const other = await h.tenant({ form: "a" });
    const page = await signInToConsole(h.app, { apiKey: other.token });
    expect((await page.call("GET", "/agents")).headers.get("api-form")).toBe("b");
    expect((await page.call("GET", "/agents", { headers: { "api-form": "a" } })).headers.get("api-form")).toBe("a");
  });

  test("stream", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const body = { message: userMessage("Hello!") };
    const response = await page.open("POST", `/agents/${agentId}/sessions`, { body });
    expect([response.status, response.headers.get("content-type")]).toEqual([201, "text/event-stream"]);
    const text = await response.text();
    expect(text).toContain('"type":"text-delta"');
    expect(text.trimEnd()).toEndWith("data: [DONE]");
  });

  test("403 foreign_request: without the page's token when they change something, or from elsewhere", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const other = await signInToConsole(h.app, { apiKey: t.token });
    const body = { name: "Never made", template: "x" };
    for (const headers of [
      { "x-csrf-token": null },
      { "x-csrf-token": "" },
      { "x-csrf-token": other.csrfToken },
      { origin: "https://evil.example" },
      { origin: `${consoleOrigin}:81` },
      { "sec-fetch-site": "same-site" },
      { origin: null, "sec-fetch-site": null },
    ]) {
      const response = await page.call("POST", "/prompts", { body, headers });
      expect([response.status, response.body.error.code]).toEqual([403, "foreign_request"]);
    }
    expect((await page.call("POST", "/logout", { headers: { "x-csrf-token": null } })).status).toBe(403);
    expect((await t.parley.prompts.list()).prompts.map(({ name }) => name)).not.toContain("Never made");
  });

  test("401 unauthorized: without a session, whatever else they hold", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const refused = [null, "parley_console=", `parley_console=${"A".repeat(43)}`, "parley_console=1; parley_console=2"];
    for (const cookie of refused)
      for (const path of ["/session", "/agents", "/operator/queue"])
        expect((await page.call("GET", path, { headers: { cookie } })).status).toBe(401);
    const headers = { cookie: null, authorization: `Bearer ${t.token}` };
    expect((await page.call("GET", "/agents", { headers })).status).toBe(401);
  });

  test("find their session beside cookies of the same name that are left over, and refuse two that live", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const old = `parley_console=${"A".repeat(43)}`;
    const asks = async (...cookies: readonly string[]) =>
      (await page.call("GET", "/agents", { headers: { cookie: cookies.join("; ") } })).status;
    for (const cookies of [
      [old, page.cookie],
      [page.cookie, old],
      [page.cookie, "parley_console=", page.cookie],
    ])
      expect(await asks(...cookies)).toBe(200);
    const many = Array.from({ length: 5 }, (_, at) => `parley_console=${String(at).repeat(43)}`);
    expect(await asks(page.cookie, ...many)).toBe(401);
    const other = await signInToConsole(h.app, { apiKey: t.token });
    expect(await asks(page.cookie, other.cookie)).toBe(401);
    const cookie = `${page.cookie}; ${other.cookie}`;
    const again = await tryToSignIn(h.app, { apiKey: t.token }, { cookie });
    const fresh = again.headers.get("set-cookie")?.split(";", 1)[0] as string;
    // The browser still sends the one that this sign-in could not replace.
    expect([await asks(page.cookie, fresh), await asks(other.cookie), await asks(page.cookie)]).toEqual([
      200, 401, 401,
    ]);
  });

  test("/v1 takes no cookie", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    expect((await t.call("GET", "/v1/agents", { token: null, headers: { cookie: page.cookie } })).status).toBe(401);
  });

  test("of another page are allowed by nothing", async () => {
    const origin = "https://shop.example";
    const { token } = await t.parley.clientTokens.create({ agentId, userId: "anna", origins: [origin] });
    const preflight = { origin, "access-control-request-method": "POST" };
    for (const path of ["/console/api/prompts", "/console/api/login"]) {
      const asked = new Request(`${consoleOrigin}${path}`, { method: "OPTIONS", headers: preflight });
      expect((await h.app(asked)).headers.get("access-control-allow-origin")).toBeNull();
    }
    expect((await tryToSignIn(h.app, { token })).status).toBe(401);
  });

  test("take the methods of operations", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const made = (await page.call("POST", "/prompts", { body: { name: "Changed", template: "x" } })).body;
    const path = `/prompts/${made.id}`;
    expect((await page.call("PATCH", path, { body: { name: "Changed again" } })).status).toBe(200);
    expect((await page.call("DELETE", path)).status).toBe(204);
    for (const method of ["OPTIONS", "PROPFIND"]) {
      const refused = await page.call(method, path);
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "DELETE, GET, PATCH, POST, PUT"]);
    }
  });

  test("lead nowhere but to operations", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    for (const path of ["//agents", "/v1/agents", "/metrics", "/%2e%2e%2f%2e%2e%2fmetrics"])
      expect((await page.call("GET", path)).status).toBe(404);
  });

  test("what a tool wrote is a download, and runs in no page", async () => {
    const page = await signInToConsole(h.app, { apiKey: t.token });
    const { id } = await t.parley.workspaces.create({ name: "Pages" });
    await h.sql`insert into workspace_files (workspace_id, path, content, size) values (${id}, 'a.html', '<script>1</script>', 18)`;
    const file = await page.call("GET", `/workspaces/${id}/files?path=a.html`);
    expect(file.status).toBe(200);
    expect(file.headers.get("content-disposition")).toStartWith("attachment");
    expect(file.headers.get("content-security-policy")).toContain("sandbox");
    expect(file.headers.get("x-content-type-options")).toBe("nosniff");
  });
});
