import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { exportJWK, type JWTPayload, SignJWT } from "jose";
import { createRateLimiter } from "../../../src/kernel/auth/rate-limit.ts";
import { type HttpServer, listen } from "../../../src/kernel/runtime.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually, type Harness, startHarness, type TestTenant } from "../../harness/harness.ts";

const secret = "a dashboard secret of 32 letters";
const { h, t } = await useTenant({ env: { DASHBOARD_JWT_SECRET: secret } });

const inAnHour = () => Math.floor(Date.now() / 1000) + 3_600;

/** A token signed by hand, with whatever header. */
function forge(header: object, claims: object, sign: (text: string) => string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${sign(text)}`;
}

function hmac(algorithm: string, key: string | Buffer) {
  return (text: string) => createHmac(algorithm, key).update(text).digest("base64url");
}

async function statusOf(harness: Harness, token: string): Promise<number> {
  const anybody = await harness.tenant();
  const response = await anybody.call("GET", "/v1/apikeys", { token });
  if (response.status === 401) expect(response.body.error.code).toBe("unauthorized");
  return response.status;
}

describe("a dashboard JWT signed with the secret", () => {
  const claims = () => ({ tenantId: t.id, exp: inAnHour() });

  test("HS256 is 200, for the tenant it names, with and without authUserId", async () => {
    await t.call("POST", "/v1/apikeys", { body: { name: "only mine" } });
    for (const more of [{}, { authUserId: "user_1" }, { authUserId: "😀".repeat(256) }]) {
      const token = forge({ alg: "HS256" }, { ...claims(), ...more }, hmac("sha256", secret));
      const response = await t.call("GET", "/v1/apikeys", { token });
      expect([response.status, response.body.apiKeys.length]).toEqual([200, 2]);
    }
  });

  const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const publicPem = keys.publicKey.export({ type: "spki", format: "pem" }) as string;
  const refused: [string, () => string][] = [
    ["expired", () => forge({ alg: "HS256" }, { ...claims(), exp: inAnHour() - 3_700 }, hmac("sha256", secret))],
    ["without exp", () => forge({ alg: "HS256" }, { tenantId: t.id }, hmac("sha256", secret))],
    ["not valid before later", () => forge({ alg: "HS256" }, { ...claims(), nbf: inAnHour() }, hmac("sha256", secret))],
    ["alg none", () => forge({ alg: "none" }, claims(), () => "")],
    ["HS512 on the secret", () => forge({ alg: "HS512" }, claims(), hmac("sha512", secret))],
    ["RS256 named, signed with the secret", () => forge({ alg: "RS256" }, claims(), hmac("sha256", secret))],
    ["HS256 signed with a public key", () => forge({ alg: "HS256" }, claims(), hmac("sha256", publicPem))],
    ["another secret", () => forge({ alg: "HS256" }, claims(), hmac("sha256", "another secret of 32 characters!"))],
    ["an altered body", () => forge({ alg: "HS256" }, claims(), () => "AAAA")],
    ["unknown critical header", () => forge({ alg: "HS256", crit: ["x"], x: 1 }, claims(), hmac("sha256", secret))],
    ["an unknown tenant", () => forged({ tenantId: `ten_${"0".repeat(24)}` })],
    ["a tenant id of the wrong shape", () => forged({ tenantId: "' or 1=1 --" })],
    ["a tenant id that is no text", () => forged({ tenantId: { $ne: null } })],
    ["a tenant id with NUL", () => forged({ tenantId: `${t.id}\0` })],
    ["a user id with NUL", () => forged({ authUserId: "user\0" })],
    ["a user id with half of a surrogate pair", () => forged({ authUserId: "user\ud800" })],
    ["a user id of 257 characters", () => forged({ authUserId: "ü".repeat(257) })],
    ["no tenant", () => forged({ tenantId: undefined })],
  ];
  const forged = (change: object) => forge({ alg: "HS256" }, { ...claims(), ...change }, hmac("sha256", secret));

  for (const [name, make] of refused) {
    test(`401 unauthorized: ${name}`, async () => expect(await statusOf(h, make())).toBe(401));

    const nowSeconds = Math.floor(Date.now() / 1000);
    test.each([
      ["exp", -15, 200],
      ["exp", -60, 401],
      ["nbf", 15, 200],
      ["nbf", 60, 401],
      ["iat", 15, 200],
      ["iat", 60, 401],
    ])("clocks may be 30 s apart: %s %i s from now is %i", async (claim, seconds, status) => {
      const token = forge({ alg: "HS256" }, { ...claims(), [claim]: nowSeconds + seconds }, hmac("sha256", secret));
      expect(await statusOf(h, token)).toBe(status);
    });
  }

  test("401 unauthorized: once its tenant is deleted", async () => {
    const gone = await h.tenant();
    const token = forged({ tenantId: gone.id });
    expect(await statusOf(h, token)).toBe(200);
    await h.sql`update tenants set deleting_at = now(), deleted_at = now() where id = ${gone.id}`;
    expect(await statusOf(h, token)).toBe(401);
  });

  test("401 unauthorized: where no secret and no JWKS is configured", async () => {
    const plain = await startHarness();
    const tenant = await plain.tenant();
    const token = forge({ alg: "HS256" }, { tenantId: tenant.id, exp: inAnHour() }, hmac("sha256", secret));
    expect(await statusOf(plain, token)).toBe(401);
    expect(
      await statusOf(plain, forge({ alg: "HS256" }, { tenantId: tenant.id, exp: inAnHour() }, hmac("sha256", ""))),
    ).toBe(401);
    await plain.stop();
  });
});

describe("a dashboard JWT where an audience and an issuer are configured", () => {
  const env = {
    DASHBOARD_JWT_SECRET: secret,
    DASHBOARD_JWT_AUDIENCE: "parley",
    DASHBOARD_JWT_ISSUER: "https://id.example.com/",
  };
  let strict: Harness;
  beforeAll(async () => {
    strict = await startHarness({ env });
  });
  afterAll(() => strict.stop());

  const good = { aud: "parley", iss: "https://id.example.com/" };
  const cases: [number, string, object][] = [
    [200, "both match", {}],
    [200, "the audience is one of several", { aud: ["another", "parley"] }],
    [401, "no audience", { aud: undefined }],
    [401, "another audience", { aud: "another" }],
    [401, "other audiences", { aud: ["another", "parley2"] }],
    [401, "no audience of several", { aud: [] }],
    [401, "an audience that is no text", { aud: { parley: true } }],
    [401, "no issuer", { iss: undefined }],
    [401, "another issuer", { iss: "https://id.example.com" }],
    [401, "an issuer that is no text", { iss: ["https://id.example.com/"] }],
  ];

  for (const [status, name, change] of cases) {
    test(`${status}: ${name}`, async () => {
      const { id } = await strict.tenant();
      const claims = { tenantId: id, exp: inAnHour(), ...good, ...change };
      expect(await statusOf(strict, forge({ alg: "HS256" }, claims, hmac("sha256", secret)))).toBe(status);
    });
  }
});

describe("the Authorization header", () => {
  const headers: [string, (token: string) => string | null][] = [
    ["missing", () => null],
    ["empty", () => ""],
    ["the scheme alone", () => "Bearer"],
    ["the scheme and a space", () => "Bearer "],
    ["another scheme", (token) => `Basic ${token}`],
    ["no scheme", (token) => token],
    ["two credentials", (token) => `Bearer ${token} ${token}`],
    ["a cut key", (token) => `Bearer ${token.slice(0, -1)}`],
    ["a longer key", (token) => `Bearer ${token}x`],
    ["another case", (token) => `Bearer ${token.toUpperCase()}`],
    ["an unknown key", () => `Bearer parley_${"x".repeat(40)}`],
    ["as long as servers let through", () => `Bearer ${"x".repeat(10_000)}`],
  ];
  for (const [name, make] of headers) {
    test(`401 unauthorized: ${name}`, async () => {
      const authorization = make(t.token);
      const response = await t.call("GET", "/v1/apikeys", {
        token: null,
        headers: authorization === null ? {} : { authorization },
      });
      expect([response.status, response.body.error.code]).toEqual([401, "unauthorized"]);
      expect(response.headers.get("x-request-id")).toBe(response.body.error.requestId);
    });
  }

  test("200: the scheme in any case, and more than one space", async () => {
    for (const scheme of ["bearer", "BEARER", "Bearer "]) {
      const response = await t.call("GET", "/v1/apikeys", {
        token: null,
        headers: { authorization: `${scheme} ${t.token}` },
      });
      expect(response.status).toBe(200);
    }
  });
});

describe("a dashboard JWT behind a JWKS", () => {
  interface SigningKey {
    readonly id: string;
    readonly alg: string;
    readonly privateKey: KeyObject;
    readonly publicKey: KeyObject;
  }
  const rsa = (id: string): SigningKey => ({
    id,
    alg: "RS256",
    ...generateKeyPairSync("rsa", { modulusLength: 2048 }),
  });
  const ec = (id: string): SigningKey => ({ id, alg: "ES256", ...generateKeyPairSync("ec", { namedCurve: "P-256" }) });
  let published: SigningKey[] = [];
  /** What the address answers that has no JWKS. */
  let strange = "";
  let server: HttpServer;
  let behind: Harness;
  let tenant: TestTenant;

  beforeAll(async () => {
    server = listen({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/other") return new Response(strange);
        if (pathname !== "/jwks.json") return new Response(null, { status: 404 });
        const keys = published.map(async ({ id, alg, publicKey }) => ({
          ...(await exportJWK(publicKey)),
          kid: id,
          alg,
        }));
        return Response.json({ keys: await Promise.all(keys) });
      },
    });
    published = [rsa("first"), ec("second")];
    behind = await startHarness({ env: { DASHBOARD_JWKS_URL: `http://127.0.0.1:${server.port}/jwks.json` } });
    tenant = await behind.tenant();
  });
  afterAll(async () => {
    await behind.stop();
    await server.stop(true);
  });

  const claims = (): JWTPayload => ({ tenantId: tenant.id });
  const sign = (key: SigningKey, more: JWTPayload = {}) =>
    new SignJWT({ ...claims(), ...more })
      .setProtectedHeader({ alg: key.alg, kid: key.id })
      .setExpirationTime("1h")
      .sign(key.privateKey);

  test("RS256 and ES256 are 200", async () => {
    for (const key of published) expect(await statusOf(behind, await sign(key))).toBe(200);
  });

  test("401 unauthorized: a key that is not published, a key under a published name, HS256 with the public key, expired, none", async () => {
    const [first] = published as [SigningKey];
    expect(await statusOf(behind, await sign(rsa("stranger")))).toBe(401);
    expect(await statusOf(behind, await sign({ ...rsa("x"), id: first.id }))).toBe(401);
    const pem = first.publicKey.export({ type: "spki", format: "pem" }) as string;
    const exp = inAnHour();
    const confused = forge({ alg: "HS256", kid: first.id }, { ...claims(), exp }, hmac("sha256", pem));
    expect(await statusOf(behind, confused)).toBe(401);
    expect(
      await statusOf(
        behind,
        forge({ alg: "none" }, { ...claims(), exp }, () => ""),
      ),
    ).toBe(401);
    const expired = await new SignJWT(claims())
      .setProtectedHeader({ alg: first.alg, kid: first.id })
      .setExpirationTime("-1h")
      .sign(first.privateKey);
    expect(await statusOf(behind, expired)).toBe(401);
  });

  test("200: a key that is published while the process runs", async () => {
    expect(await statusOf(behind, await sign(published[0] as SigningKey))).toBe(200);
    const next = rsa("rotated");
    published = [...published, next];
    const token = await sign(next);
    await eventually(async () => (await statusOf(behind, token)) === 200);
  });

  test("503 service_unavailable: the response is no JWKS", async () => {
    // One service for all: what cannot be read is not kept.
    const lost = await startHarness({ env: { DASHBOARD_JWKS_URL: `http://127.0.0.1:${server.port}/other` } });
    for (const body of [
      "<html>",
      "",
      "[]",
      "null",
      "{}",
      '{"keys":{}}',
      '{"keys":["x"]}',
      `{"keys":[]}${" ".repeat(9)}x`,
    ]) {
      strange = body;
      expect([body, await statusOf(lost, await sign(published[0] as SigningKey))]).toEqual([body, 503]);
    }
    await lost.stop();
  });

  test("503 service_unavailable: the JWKS cannot be read", async () => {
    const lost = await startHarness({ env: { DASHBOARD_JWKS_URL: `http://127.0.0.1:${server.port}/missing` } });
    const own = await lost.tenant();
    const token = await sign(published[0] as SigningKey, { tenantId: own.id });
    const response = await own.call("GET", "/v1/apikeys", { token });
    expect([response.status, response.body.error.code]).toEqual([503, "service_unavailable"]);
    expect(await statusOf(lost, "no.token.atall")).toBe(401);
    await lost.stop();
  });
});

describe("429 rate_limited", () => {
  test("429 rate_limited: a limit of N lets N requests of a second through, over all keys; Retry-After tells the wait", async () => {
    const limited = await h.tenant();
    const other = await limited.call("POST", "/v1/apikeys", { body: { name: "second" } });
    await h.sql`update tenants set rate_limit = 3 where id = ${limited.id}`;
    const tokens = Array.from({ length: 8 }, (_, place) => (place % 2 === 0 ? limited.token : other.body.token));
    // A second may begin in between, so one of several tries must see the exact number.
    const responses = await eventually(async () => {
      const all = await Promise.all(tokens.map((token) => limited.call("GET", "/v1/apikeys", { token })));
      return all.filter((response) => response.status === 200).length === 3 ? all : null;
    });
    for (const response of responses.filter((one) => one.status !== 200)) {
      expect([response.status, response.body.error.code]).toEqual([429, "rate_limited"]);
      expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    }
    await eventually(async () => (await limited.call("GET", "/v1/apikeys")).status === 200);
    expect((await t.call("GET", "/v1/apikeys")).status).toBe(200);
  });

  const redisUrl = process.env.PARLEY_TEST_REDIS_URL ?? "";
  test.skipIf(redisUrl === "")(
    "two processes that share a Redis share the limit; without Redis each counts for itself",
    async () => {
      const tenantId = `ten_${randomUUID()}` as const;
      const clients = [1, 2].map(() => new Redis(redisUrl, { enableOfflineQueue: false, maxRetriesPerRequest: 0 }));
      for (const client of clients) client.on("error", () => {});
      await eventually(() => clients.every((client) => client.status === "ready"));
      const limiters = clients.map((client) => createRateLimiter(client));
      // A second may begin in between, so one of several tries must see the exact number.
      await eventually(async () => {
        const waits = await Promise.all(
          Array.from({ length: 12 }, (_, place) => limiters[place % 2]?.take(tenantId, 5)),
        );
        return waits.filter((wait) => wait === 0).length === 5;
      });
      for (const client of clients) client.disconnect();
      const waits = await Promise.all(limiters.map((limiter) => limiter.take(`ten_${randomUUID()}`, 1)));
      expect(waits).toEqual([0, 0]);
    },
  );
});
