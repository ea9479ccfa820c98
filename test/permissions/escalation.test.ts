import { expect, test } from "bun:test";
import { SignJWT } from "jose";
import { tryToSignIn } from "../harness/console-page.ts";
import { oidcEnv, tryPerson, useIdentityProvider } from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import { dashboardSecret } from "../harness/sign-in-scene.ts";

const idp = await useIdentityProvider();
const { h, t } = await useTenant({ env: { ...oidcEnv(idp), DASHBOARD_JWT_SECRET: dashboardSecret } });
await h.sql`update tenants set api_keys_max = 100 where id = ${t.id}`;
const ladder = ["reader", "approver", "runner", "editor", "admin"] as const;

test("keys by keys: none but an admin's makes one, of whatever role", async () => {
  const answers: unknown[] = [];
  for (const by of ladder) {
    const { token } = await t.parley.apiKeys.create({ name: by, role: by });
    for (const role of ladder) {
      const made = await t.call("POST", "/v1/apikeys", { token, body: { name: "made", role } });
      answers.push([by, role, made.status]);
    }
  }
  expect(answers).toEqual(ladder.flatMap((by) => ladder.map((role) => [by, role, by === "admin" ? 201 : 403])));
});

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const secret = new TextEncoder().encode(dashboardSecret);
const claims = { tenantId: t.id, role: "admin", exp: Math.floor(Date.now() / 1000) + 300 };
const signed = (changes: object, alg = "HS256", key = secret) =>
  new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg }).sign(key);

test("401 unauthorized at /v1 and at the console: a JWT that is unsigned, altered, or whose role is none", async () => {
  const reader = await signed({ role: "reader" });
  expect((await t.call("GET", "/v1/agents", { token: reader })).status).toBe(200);
  const [head, , signature] = reader.split(".");
  const forged = {
    "alg none": `${part({ alg: "none" })}.${part(claims)}.`,
    "alg nOnE": `${part({ alg: "nOnE" })}.${part(claims)}.`,
    altered: `${head}.${part(claims)}.${signature}`,
    "without a signature": `${head}.${part(claims)}.`,
    "another secret": await signed({}, "HS256", new TextEncoder().encode("another secret, and long enough")),
    "another algorithm": await signed({}, "HS512"),
    "without an end": await signed({ exp: undefined }),
    ...Object.fromEntries(
      await Promise.all(
        [["admin"], null, "", "Admin", "owner", 5, { admin: true }].map(
          async (role) => [`role ${JSON.stringify(role)}`, await signed({ role })] as const,
        ),
      ),
    ),
    "several tenants": await signed({ tenantId: [t.id] }),
  };
  for (const [name, token] of Object.entries(forged)) {
    const api = await t.call("GET", "/v1/agents", { token });
    expect([name, api.status]).toEqual([name, 401]);
  }
  for (const token of [forged["alg none"], forged.altered, forged["another secret"]])
    expect((await tryToSignIn(h.app, { token })).status).toBe(401);
});

test("403 sign_in_refused: an address that only looks like a member's", async () => {
  const email = `ana-${crypto.randomUUID()}@example.org`;
  await t.parley.members.create({ email, role: "admin" });
  for (const alike of [
    `${email} `,
    ` ${email}`,
    email.replace("a", "\u0430"),
    email.replace("@", "@\u200b"),
    `${email},x@example.org`,
    `"${email}"`,
    `${email}\0`,
  ])
    expect([alike, (await tryPerson(h.app, idp, { email: alike })).status]).toEqual([alike, 403]);
  expect((await tryPerson(h.app, idp, { email })).status).toBe(303);
});

test("a sign-in and the removal of the same member at once: no session that is good for anything, no fault", async () => {
  for (let round = 0; round < 10; round += 1) {
    const email = `${crypto.randomUUID()}@example.org`;
    const member = await t.parley.members.create({ email, role: "admin" });
    const [response, gone] = await Promise.all([
      tryPerson(h.app, idp, { email }),
      t.call("DELETE", `/v1/members/${member.id}`),
    ]);
    expect([303, 403]).toContain(response.status);
    expect(gone.status).toBe(204);
    const cookie = response.headers.getSetCookie().find((set) => set.includes("parley_console="));
    if (cookie === undefined) continue;
    const headers = { cookie: cookie.split(";", 1)[0] as string, "sec-fetch-site": "same-origin" };
    const read = await h.app(new Request("http://parley.test/console/api/agents", { headers }));
    expect(read.status).toBe(401);
  }
});
