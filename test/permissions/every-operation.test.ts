import { describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import { leastRoleOf, ladder as roles } from "../contract/roles.ts";
import { type ConsolePage, signInToConsole } from "../harness/console-page.ts";
import { oidcEnv, signInPerson, useIdentityProvider } from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse } from "../harness/harness.ts";

type Role = (typeof roles)[number];

interface Described {
  readonly operationId: string;
  readonly "x-role": Role;
}

const idp = await useIdentityProvider();
const { h, t } = await useTenant({ env: oidcEnv(idp) });
await h.sql`update tenants set api_keys_max = 20 where id = ${t.id}`;
const tokens = Object.fromEntries(
  await Promise.all(
    roles.map(async (role) => [role, (await t.parley.apiKeys.create({ name: role, role })).token] as const),
  ),
) as Record<Role, string>;
const document = (await t.call("GET", "/openapi.json", { token: null })).body;

/** Every operation of the document, with its path as a test asks for it: ids of nothing, which no role comes to look at. */
const operations = Object.entries(document.paths as Record<string, Record<string, Described>>).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, "x-role": needs }]) => ({
      operationId,
      needs,
      method: method.toUpperCase(),
      op: `${method.toUpperCase()} ${path.replace(/\{([^}]+)\}/g, ":$1")}`,
      path: path.replace(/\{[^}]+\}/g, "x"),
    })),
);
type Asked = (typeof operations)[number];

/** One way in. */
type Door = (role: Role, asked: Asked) => Promise<ApiResponse>;

const throughApi =
  (form: Form): Door =>
  (role, { method, path }) =>
    t.call(method, path, { form, token: tokens[role] });

/** One sign-in of each role. */
const pages = new Map<Role, Promise<ConsolePage>>();

const throughConsole: Door = async (role, { method, path }) => {
  const page = pages.get(role) ?? signInToConsole(h.app, { apiKey: tokens[role] });
  pages.set(role, page);
  return (await page).call(method, path.replace("/v1", ""));
};

const people = new Map<Role, Promise<ConsolePage>>();

/** A member of each role. */
async function memberPage(role: Role): Promise<ConsolePage> {
  const email = `${role}@example.org`;
  await t.parley.members.create({ email, role });
  return signInPerson(h.app, idp, { email });
}

const throughMember: Door = async (role, { method, path }) => {
  const page = people.get(role) ?? memberPage(role);
  people.set(role, page);
  return (await page).call(method, path.replace("/v1", ""));
};

const doors: Readonly<Record<string, Door>> = {
  "/v1 in form B": throughApi("b"),
  "/v1 in form A": throughApi("a"),
  "the console": throughConsole,
  "the console of a member": throughMember,
};

const mayDo = (role: Role, needs: Role) => roles.indexOf(role) >= roles.indexOf(needs);

test("the document says of each operation the least role, as the rules in words have it", () => {
  expect(operations.length).toBeGreaterThan(130);
  expect(operations.map(({ op, needs }) => [op, needs])).toEqual(operations.map(({ op }) => [op, leastRoleOf(op)]));
});

describe("every operation, asked for with ids that are not even ids,", () => {
  for (const [door, ask] of Object.entries(doors))
    for (const role of roles)
      test(`is 403 forbidden to the role ${role} at ${door} where it needs more, and looked at where not`, async () => {
        const answered: unknown[] = [];
        const expected: unknown[] = [];
        for (const asked of operations) {
          const { status, body } = await ask(role, asked);
          const { code, details } = body?.error ?? {};
          const needs = asked.needs;
          expected.push([asked.op, mayDo(role, needs) ? "looked at" : { status: 403, role, needs }]);
          answered.push([asked.op, code === "forbidden" ? { status, ...details } : "looked at"]);
        }
        expect(answered).toEqual(expected);
      });
});

test("what a role may not do is 403 alike for what exists, for another tenant's and for what is missing", async () => {
  const agent = await t.parley.agents.create({ name: crypto.randomUUID() });
  const other = await h.tenant();
  const foreign = await other.parley.agents.create({ name: crypto.randomUUID() });
  const answers = await Promise.all(
    [agent.id, foreign.id, `ag_${"0".repeat(24)}`].map(async (id) => {
      const { status, body } = await t.call("DELETE", `/v1/agents/${id}`, { token: tokens.runner });
      return [status, { ...body.error, requestId: "" }];
    }),
  );
  const error = {
    code: "forbidden",
    message: "The role runner may not do this; it takes editor or more.",
    details: { role: "runner", needs: "editor" },
    requestId: "",
  };
  expect(answers).toEqual([
    [403, error],
    [403, error],
    [403, error],
  ]);
});
