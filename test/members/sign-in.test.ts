import { describe, expect, test } from "bun:test";
import { consoleOrigin } from "../harness/console-page.ts";
import {
  beginSignIn,
  comeBack,
  oidcEnv,
  signInPerson,
  tryPerson,
  useIdentityProvider,
} from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";

const idp = await useIdentityProvider();
const { h, t } = await useTenant({ env: oidcEnv(idp) });
const { app } = h;
const invite = async (email: string, role = "editor", tenant = t) =>
  (await tenant.call("POST", "/v1/members", { body: { email, role } })).body.id as string;
const fresh = () => `${crypto.randomUUID().slice(0, 8)}@example.org`;
const codeOf = async (response: Response) => [response.status, (await response.json()).error.code];

describe("a person", () => {
  test("signs in with a verified address, in whatever case, and works as a member from then on", async () => {
    const email = fresh();
    const memberId = await invite(email, "editor");
    const page = await signInPerson(app, idp, { email: email.toUpperCase(), name: "Ana" });
    expect(page.session).toMatchObject({
      principal: { kind: "tenant", tenantId: t.id, memberId, keyId: null, role: "editor", agentIds: null },
      person: { email: email.toUpperCase(), name: "Ana", isOperator: false },
      tenants: [{ tenantId: t.id, name: expect.any(String), role: "editor" }],
    });
    const made = await page.call("POST", "/prompts", { body: { name: email, template: "x" } });
    expect(made.status).toBe(201);
    const events = (await t.call("GET", `/v1/audit-events?actorId=${memberId}`)).body.data;
    expect(events.map(({ action, actor }: { action: string; actor: object }) => [action, actor])).toEqual([
      ["prompt.create", { type: "member", id: memberId }],
      ["console_session.create", { type: "member", id: memberId }],
    ]);
    const shown = (await t.call("GET", `/v1/members/${memberId}`)).body;
    expect(shown).toMatchObject({ name: "Ana", invitedUntil: null, lastSignInAt: expect.any(String) });
  });

  test("has a cookie that no other site's request carries, and an unfinished sign-in one that the provider's does", async () => {
    const email = fresh();
    await invite(email);
    const response = await app(new Request(`${consoleOrigin}/console/api/oidc/start`));
    expect(response.headers.get("set-cookie")).toMatch(
      /^parley_console_oidc=[\w.-]+; HttpOnly; SameSite=Lax; Path=\/console\/api\/oidc; Max-Age=600$/,
    );
    const done = await tryPerson(app, idp, { email });
    const [session, flow] = done.headers.getSetCookie();
    expect(session).toMatch(/^parley_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/console; Max-Age=\d+$/);
    expect(flow).toMatch(/^parley_console_oidc=; .*Max-Age=0$/);
  });

  test("comes back to the screen where the sign-in began, and to no other site", async () => {
    const email = fresh();
    await invite(email);
    for (const [to, place] of [
      ["/console/turns?status=failed", "/console/turns?status=failed"],
      ["https://evil.example/console", "/console"],
      ["//evil.example/console", "/console"],
      ["/console/../v1/agents", "/console"],
      ["/console/api/logout", "/console"],
      ["/console/%61pi/logout", "/console"],
      ["/console//evil.example", "/console"],
      ["/console\\..\\..\\evil", "/console"],
      ["/console@evil.example", "/console"],
      ["\t//evil.example", "/console"],
      ["\r\nLocation: //evil.example", "/console"],
      ["javascript:alert(1)", "/console"],
    ]) {
      const { address, cookie } = await beginSignIn(app, `?to=${encodeURIComponent(to as string)}`);
      idp.account = { email };
      const response = await comeBack(app, await idp.signIn(address), cookie);
      expect(response.headers.get("location")).toBe(place as string);
    }
  });

  test("in several tenants chooses, and changes", async () => {
    const [email, other] = [fresh(), await h.tenant({ name: "Another" })];
    await Promise.all([invite(email, "reader"), invite(email, "admin", other)]);
    const page = await signInPerson(app, idp, { email });
    expect(page.session.principal).toMatchObject({ kind: "person", tenantId: null, role: null });
    expect(
      page.session.tenants.map(({ tenantId, role }: { tenantId: string; role: string }) => [tenantId, role]),
    ).toEqual([
      [other.id, "admin"],
      [t.id, "reader"],
    ]);
    expect((await page.call("GET", "/agents")).status).toBe(404);
    for (const [tenant, keys] of [
      [other, 200],
      [t, 403],
    ] as const) {
      const chosen = await page.call("POST", "/session/tenant", { body: { tenantId: tenant.id } });
      expect([chosen.status, chosen.body.principal.tenantId]).toEqual([200, tenant.id]);
      expect((await page.call("GET", "/apikeys")).status).toBe(keys);
    }
    const foreign = await h.tenant();
    for (const tenantId of [foreign.id, `ten_${"0".repeat(24)}`, null])
      expect((await page.call("POST", "/session/tenant", { body: { tenantId } })).status).toBe(404);
    expect((await page.call("GET", "/session")).body.principal.tenantId).toBe(t.id);
  });

  test("403 sign_in_refused: who is a member of no tenant, and whose invitation is over", async () => {
    const email = fresh();
    expect(await codeOf(await tryPerson(app, idp, { email }))).toEqual([403, "sign_in_refused"]);
    const memberId = await invite(email);
    await h.sql`update members set invited_until = now() - interval '1 second' where id = ${memberId}`;
    expect(await codeOf(await tryPerson(app, idp, { email }))).toEqual([403, "sign_in_refused"]);
    await t.call("PATCH", `/v1/members/${memberId}`, { body: { role: "editor" } });
    expect((await tryPerson(app, idp, { email })).status).toBe(303);
  });

  test("403 sign_in_refused: an address that is not verified, whatever is said in place of `true`", async () => {
    const email = fresh();
    await invite(email);
    for (const email_verified of [false, undefined, null, "true", 1])
      expect(await codeOf(await tryPerson(app, idp, { email, email_verified }))).toEqual([403, "sign_in_refused"]);
  });

  test("signs out here and, by the address in the response, at the provider", async () => {
    const email = fresh();
    await invite(email);
    const page = await signInPerson(app, idp, { email });
    const out = await page.call("POST", "/logout");
    expect(out.status).toBe(200);
    const end = new URL(out.body.endSessionUrl);
    expect(end.origin + end.pathname).toBe(`${idp.url}/session/end`);
    expect(end.searchParams.get("post_logout_redirect_uri")).toBe(`${consoleOrigin}/console`);
    expect((await fetch(end, { redirect: "manual" })).status).toBe(200);
    expect((await page.call("GET", "/session")).status).toBe(401);
  });
});

describe("a member", () => {
  test("who is removed or lowered is so at the next request, in a session that is open", async () => {
    const email = fresh();
    const memberId = await invite(email, "admin");
    const page = await signInPerson(app, idp, { email });
    expect((await page.call("GET", "/apikeys")).status).toBe(200);
    await t.call("PATCH", `/v1/members/${memberId}`, { body: { role: "reader" } });
    const refused = await page.call("GET", "/apikeys");
    expect([refused.status, refused.body.error.details]).toEqual([403, { role: "reader", needs: "admin" }]);
    await t.call("DELETE", `/v1/members/${memberId}`);
    expect((await page.call("GET", "/agents")).status).toBe(401);
    expect((await page.call("GET", "/session")).status).toBe(401);
    expect(await h.sql`select 1 from console_sessions where member_id = ${memberId}`).toHaveLength(0);
  });

  test("who is removed from one tenant of two may choose the other one", async () => {
    const [email, other] = [fresh(), await h.tenant()];
    const memberId = await invite(email);
    await invite(email, "reader", other);
    const page = await signInPerson(app, idp, { email });
    await page.call("POST", "/session/tenant", { body: { tenantId: t.id } });
    await t.call("DELETE", `/v1/members/${memberId}`);
    expect((await page.call("GET", "/agents")).status).toBe(401);
    const session = (await page.call("GET", "/session")).body;
    expect([session.principal.kind, session.tenants]).toMatchObject(["person", [{ tenantId: other.id }]]);
  });

  test("who is removed takes the client tokens along that he made", async () => {
    const email = fresh();
    const memberId = await invite(email);
    const agent = await t.parley.agents.create({ name: email });
    const page = await signInPerson(app, idp, { email });
    const { token } = (await page.call("POST", "/client-tokens", { body: { agentId: agent.id, userId: "u" } })).body;
    const asked = () => t.call("GET", `/v1/agents/${agent.id}/sessions?userId=u`, { token });
    expect((await asked()).status).toBe(200);
    await t.call("DELETE", `/v1/members/${memberId}`);
    expect((await asked()).status).toBe(401);
  });

  test("409 last_admin: removes or lowers neither itself nor another one, if no admin would be left", async () => {
    const tenant = await h.tenant();
    const [one, two] = [fresh(), fresh()];
    const [first, second] = [await invite(one, "admin", tenant), await invite(two, "editor", tenant)];
    const page = await signInPerson(app, idp, { email: one });
    const lower = (id: string) => page.call("PATCH", `/members/${id}`, { body: { role: "editor" } });
    for (const response of [await lower(first), await page.call("DELETE", `/members/${first}`)])
      expect([response.status, response.body.error.code]).toEqual([409, "last_admin"]);
    expect((await page.call("PATCH", `/members/${second}`, { body: { role: "admin" } })).status).toBe(200);
    expect((await lower(first)).status).toBe(200);
    // A key of an admin may: it can make another one.
    expect((await tenant.call("DELETE", `/v1/members/${second}`)).status).toBe(204);
  });

  test("409 last_admin: one of two admins who lower each other at once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const tenant = await h.tenant();
      const people = [fresh(), fresh()];
      const ids = await Promise.all(people.map((email) => invite(email, "admin", tenant)));
      const pages = [
        await signInPerson(app, idp, { email: people[0] as string }),
        await signInPerson(app, idp, { email: people[1] as string }),
      ];
      const answers = await Promise.all(
        pages.map((page, index) => page.call("PATCH", `/members/${ids[1 - index]}`, { body: { role: "reader" } })),
      );
      const codes = answers.map(({ status, body }) => body.error?.code ?? status);
      // The second one was lowered before its request was looked at, or finds that it lowers the last admin.
      expect(codes.filter((code) => code === 200)).toHaveLength(1);
      expect(["last_admin", "forbidden"]).toContain(codes.find((code) => code !== 200));
      const { data } = (await tenant.call("GET", "/v1/members")).body;
      expect(data.filter(({ role }: { role: string }) => role === "admin")).toHaveLength(1);
    }
  });
});

describe("groups", () => {
  const group = (name: string, role: string, tenant = t) =>
    h.sql`insert into tenant_groups (tenant_id, name, role) values (${tenant.id}, ${name}, ${role})
      on conflict (tenant_id, name) do update set role = excluded.role`;

  test("give a role; the higher one holds, and what is taken away counts at the next request", async () => {
    const [tenant, email] = [await h.tenant(), fresh()];
    await group("support", "runner", tenant);
    await group("leads", "editor", tenant);
    const page = await signInPerson(app, idp, { email, groups: ["support", "leads", 7, "", "x".repeat(1_000)] });
    expect(page.session.principal).toMatchObject({ tenantId: tenant.id, role: "editor" });
    const [member] = (await tenant.call("GET", "/v1/members")).body.data;
    expect(member).toMatchObject({ email, role: null, groupRole: "editor", invitedUntil: null });
    const role = async () => (await page.call("GET", "/session")).body.principal?.role;
    await h.sql`delete from tenant_groups where tenant_id = ${tenant.id} and name = 'leads'`;
    expect(await role()).toBe("runner");
    await tenant.call("PATCH", `/v1/members/${member.id}`, { body: { role: "admin" } });
    expect(await role()).toBe("admin");
    await group("support", "reader", tenant);
    await tenant.call("DELETE", `/v1/members/${member.id}`);
    expect(await role()).toBeUndefined();
    expect((await signInPerson(app, idp, { email, groups: "support" })).session.principal.role).toBe("reader");
    expect(await codeOf(await tryPerson(app, idp, { email, groups: [] }))).toEqual([403, "sign_in_refused"]);
  });

  test("make operators, who may be members too, and act under their address", async () => {
    const email = fresh();
    const page = await signInPerson(app, idp, { email, groups: ["operators"] });
    expect(page.session.principal.kind).toBe("operator");
    expect((await page.call("GET", "/operator/tenants?limit=1")).status).toBe(200);
    expect((await page.call("GET", "/agents")).status).toBe(404);
    const other = await h.tenant();
    expect((await page.call("POST", `/operator/tenants/${other.id}/suspend`)).status).toBe(200);
    const [event] = await h.sql`
      select actor_type, actor_id from audit_events where action = 'tenant.set' and resource_id = ${other.id}`;
    expect(event).toEqual({ actorType: "operator", actorId: email });
    await invite(email, "runner");
    const both = await signInPerson(app, idp, { email, groups: ["operators"] });
    expect([both.session.principal.kind, both.session.person.isOperator]).toEqual(["person", true]);
    expect((await both.call("GET", "/operator/tenants?limit=1")).status).toBe(404);
    const asOperator = await both.call("POST", "/session/tenant", { body: { tenantId: null } });
    expect(asOperator.body.principal.kind).toBe("operator");
    const asMember = await both.call("POST", "/session/tenant", { body: { tenantId: t.id } });
    expect(asMember.body.principal.role).toBe("runner");
    expect((await both.call("GET", "/operator/tenants?limit=1")).status).toBe(404);
  });

  test("make no operators of who is in another group, or none", async () => {
    const email = fresh();
    await invite(email);
    for (const groups of [["operator"], ["Operators"], undefined, { operators: true }]) {
      const page = await signInPerson(app, idp, { email, groups });
      expect((await page.call("POST", "/session/tenant", { body: { tenantId: null } })).status).toBe(404);
      expect((await page.call("GET", "/operator/tenants?limit=1")).status).toBe(404);
    }
  });
});
