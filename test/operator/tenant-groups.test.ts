import { expect, test } from "bun:test";
import { oidcEnv, signInPerson, tryPerson, useIdentityProvider } from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import { startRole } from "../harness/process.ts";

const idp = await useIdentityProvider();
const { h, t } = await useTenant({ env: oidcEnv(idp) });

async function tenant(...words: string[]) {
  const child = startRole("tenant", { DATABASE_URL: h.databaseUrl, USER: "" }, words);
  const status = await child.ended();
  return { status, stdout: child.stdout(), stderr: child.stderr() };
}
const set = (...groups: string[]) => tenant("set", "--tenant", t.id, ...groups.flatMap((group) => ["--group", group]));
const listed = async () => {
  const { stdout } = await tenant("list", "--json");
  const tenants = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as { tenantId: string; groups: object }[];
  return tenants.find(({ tenantId }) => tenantId === t.id)?.groups;
};
const fresh = () => `${crypto.randomUUID()}@example.org`;

test("tenant set --group gives groups their roles, changes them and takes them away, at the next request", async () => {
  expect((await set("Support=runner", "cn=leads,ou=x=editor", "Ünal & Söhne=reader")).status).toBe(0);
  expect(await listed()).toEqual({ Support: "runner", "cn=leads,ou=x": "editor", "Ünal & Söhne": "reader" });
  const page = await signInPerson(h.app, idp, { email: fresh(), groups: ["Support"] });
  const role = async () => (await page.call("GET", "/session")).body.principal?.role;
  expect(await role()).toBe("runner");
  expect((await set("Support=admin")).status).toBe(0);
  expect(await role()).toBe("admin");
  expect((await set("Support=admin")).stdout).toBe(`${t.id} has these values already.\n`);
  expect((await set("Support=none", "nobody=none")).status).toBe(0);
  expect((await page.call("GET", "/agents")).status).toBe(401);
  expect((await tryPerson(h.app, idp, { email: fresh(), groups: ["Support"] })).status).toBe(403);
  expect(await listed()).toEqual({ "cn=leads,ou=x": "editor", "Ünal & Söhne": "reader" });
  const rows = await h.sql`
    select actor_type, changes from audit_events where tenant_id = ${t.id} and action = 'tenant.set' order by at`;
  expect([...rows]).toEqual(Array.from({ length: 3 }, () => ({ actorType: "operator", changes: ["groups"] })));
}, 120_000);

test("what is no group or role, is given twice or too often is refused, and nothing is changed", async () => {
  const before = await listed();
  for (const [groups, says] of [
    [["Support"], "--group must have the shape NAME=ROLE."],
    [["=admin"], "--group must have the shape NAME=ROLE."],
    [["Support=owner"], "--group must name one of the roles"],
    [["a\tb=admin"], "--group must have the shape NAME=ROLE."],
    [["A=admin", "A=reader"], "--group names a group twice."],
    [Array.from({ length: 101 }, (_, n) => `g${n}=reader`), "A tenant has at most 100 groups."],
  ] as const) {
    const { status, stderr } = await set(...groups);
    expect([status, stderr]).toEqual([1, expect.stringContaining(says)]);
  }
  expect(await listed()).toEqual(before as object);
}, 120_000);
