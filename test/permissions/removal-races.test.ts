import { describe, expect, test } from "bun:test";
import type { ConsolePage } from "../harness/console-page.ts";
import { oidcEnv, signInPerson, useIdentityProvider } from "../harness/console-person.ts";
import { useTenant } from "../harness/fixture.ts";
import { type ApiResponse, eventually, type TestTenant } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { messagesOf, play, script, sessionPath } from "../harness/turns.ts";

const idp = await useIdentityProvider();
const { h } = await useTenant({ worker: true, env: oidcEnv(idp) });

/** A tenant, and an admin of it who is about to be removed or lowered: a member, and a second key. */
async function scene() {
  const t = await h.tenant();
  await h.sql`update tenants set api_keys_max = 1000 where id = ${t.id}`;
  const email = `${crypto.randomUUID()}@example.org`;
  const member = await t.parley.members.create({ email, role: "admin" });
  const page = await signInPerson(h.app, idp, { email });
  const key = await t.parley.apiKeys.create({ name: "doomed" });
  return { t, member, page, key };
}
type Scene = Awaited<ReturnType<typeof scene>>;

/** One request of who is about to be removed, which would leave something that outlives them. */
type Ask = (scene: Scene, path: string, body: object) => Promise<ApiResponse>;
const byMember: Ask = ({ page }, path, body) => page.call("POST", path.replace("/v1", ""), { body });
const byKey: Ask = ({ t, key }, path, body) => t.call("POST", path, { token: key.token, body });

const remove = ({ t, member }: Scene) => t.call("DELETE", `/v1/members/${member.id}`);
const lower = ({ t, member }: Scene) => t.call("PATCH", `/v1/members/${member.id}`, { body: { role: "reader" } });
const deleteKey = ({ t, key }: Scene) => t.call("DELETE", `/v1/apikeys/${key.apiKey.id}`);

const cases: readonly (readonly [string, Ask, (scene: Scene) => Promise<ApiResponse>])[] = [
  ["a member who is removed", byMember, remove],
  ["a member who is lowered", byMember, lower],
  ["a key that is deleted", byKey, deleteKey],
];

/** What outlives whoever makes it. */
const lasting = [
  ["/v1/apikeys", (n: number) => ({ name: `k${n}` })],
  ["/v1/members", (n: number) => ({ email: `friend${n}@example.org`, role: "admin" })],
  ["/v1/webhooks", (n: number) => ({ url: `https://example.org/${n}`, events: ["turn.ended"] })],
] as const;

/** Keeps a row locked, as a change of it does, until it is released. */
async function holdRow(table: "agents" | "tenants" | "turns", id: string) {
  const free = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = h.sql.begin(async (inner) => {
    await inner`select 1 from ${inner(table)} where id = ${id} for no key update`;
    held.resolve();
    await free.promise;
  });
  await held.promise;
  return async () => {
    free.resolve();
    await holding;
  };
}

/** How many statements wait for a row of a table. */
async function waitingFor(table: "agents" | "tenants" | "turns"): Promise<number> {
  const [row] = await h.sql`
    select count(*)::int as rows from pg_stat_activity
    where wait_event_type = 'Lock' and query like ${`%from ${table}%`} and datname = current_database()`;
  return row?.rows;
}

/** Whether a removal waits for those who write. */
async function isWaitingToEnd(): Promise<boolean> {
  const rows = await h.sql`
    select 1 from pg_stat_activity
    where wait_event = 'advisory' and query like '%access.end%' and datname = current_database()`;
  return rows.length > 0;
}

const countOf = async (t: TestTenant): Promise<number> => {
  const [row] = await h.sql`
    select ((select count(*) from api_keys where tenant_id = ${t.id}) + (select count(*) from members where tenant_id = ${t.id})
      + (select count(*) from webhooks where tenant_id = ${t.id}))::int as made`;
  return row?.made;
};

describe("a request that is under way", () => {
  for (const [who, ask, end] of cases)
    test(`of ${who}: once that is answered, it makes nothing any more`, async () => {
      const here = await scene();
      const { t } = here;
      // Whoever makes one of these waits for the tenant's row, as behind any other change of it.
      const release = await holdRow("tenants", t.id);
      const asked = lasting.map(([path, bodyOf]) => ask(here, path, bodyOf(0)));
      await eventually(async () => (await waitingFor("tenants")) >= 3);
      let isEnded = false;
      const ending = end(here).finally(() => {
        isEnded = true;
      });
      await eventually(async () => {
        if (isEnded) return true;
        return (await isWaitingToEnd()) || (await waitingFor("tenants")) >= 4;
      });
      await release();
      expect([200, 204]).toContain((await ending).status);
      const then = await countOf(t);
      const answers = await Promise.all(asked);
      expect(await countOf(t)).toBe(then);
      for (const { status } of answers) expect([201, 401, 403]).toContain(status);
    }, 30_000);

  for (const [who, ask, end] of cases)
    test(`of ${who}, among 100 at once: the same`, async () => {
      const here = await scene();
      const { t } = here;
      const asked = Array.from({ length: 99 }, (_, n) => {
        const [path, bodyOf] = lasting[n % 2 === 0 ? 0 : 1] as (typeof lasting)[number];
        return ask(here, path, bodyOf(n));
      });
      await eventually(async () => (await countOf(t)) > 4);
      expect([200, 204]).toContain((await end(here)).status);
      const then = await countOf(t);
      const answers = await Promise.all(asked);
      expect(await countOf(t)).toBe(then);
      const statuses = new Set(answers.map(({ status }) => status));
      for (const status of statuses) expect([201, 401, 403, 429]).toContain(status);
    }, 60_000);
});

test("what has a transaction of its own is not done for who was removed while it was under way", async () => {
  const here = await scene();
  const { t, page } = here;
  const agent = await t.parley.agents.create({ name: "As it was" });
  const release = await holdRow("agents", agent.id);
  const asked = page.call("PUT", `/agents/${agent.id}`, { body: { name: "Changed", instructions: "Tell me." } });
  await eventually(async () => (await waitingFor("agents")) > 0);
  expect((await remove(here)).status).toBe(204);
  await release();
  expect((await asked).status).toBe(401);
  expect((await t.call("GET", `/v1/agents/${agent.id}`)).body.name).toBe("As it was");
});

test.each(["by its approval", "by a message"])(
  "a person's decision on a tool call, %s, is made before the removal is answered, or not at all",
  async (how) => {
    const { t, page, member, ...rest } = await scene();
    const agentId = await makeAgent(h, t, {
      tools: ["memory"],
      approvalInChat: { default: "manual" as const, overrides: [] },
    });
    const message = script('tool=memory_save args={"text":"a"} ; text="Saved."');
    const { sessionId, turnId } = await play(t, agentId, null, { message });
    const statuses = async () =>
      (await h.sql`select id, status from approvals where turn_id = ${turnId}`) as unknown as {
        id: string;
        status: string;
      }[];
    const [approval] = await statuses();
    const at = sessionPath(agentId, sessionId).replace("/v1", "");
    const answered = (await messagesOf(t, agentId, sessionId)).at(-1);
    const parts = answered.parts.map((part: { state?: string; approval?: object }) =>
      part.state === "approval-requested"
        ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
        : part,
    );
    const release = await holdRow("turns", turnId);
    const asked =
      how === "by a message"
        ? page.call("POST", at, { body: { message: { ...answered, parts }, stream: false } })
        : page.call("POST", `${at}/tool-approvals/${approval?.id}`, { body: { approved: true } });
    await eventually(async () => (await waitingFor("turns")) > 0);
    let then: string | null = null;
    const ending = remove({ t, page, member, ...rest }).finally(async () => {
      then = (await statuses())[0]?.status ?? null;
    });
    await eventually(async () => then !== null || (await isWaitingToEnd()));
    await release();
    expect((await ending).status).toBe(204);
    const { status } = await asked;
    expect((await statuses())[0]?.status).toBe(then ?? "");
    expect([how === "by a message" ? [200, 201, 202].includes(status) : status === 202, String(then)]).toEqual([
      true,
      "approved",
    ]);
  },
  60_000,
);

test("a member who was lowered meanwhile does not raise itself again", async () => {
  for (let round = 0; round < 5; round += 1) {
    const here = await scene();
    const raise = () => here.page.call("PATCH", `/members/${here.member.id}`, { body: { role: "admin" } });
    const [lowered] = await Promise.all([lower(here), ...Array.from({ length: 20 }, raise)]);
    expect(lowered.status).toBe(200);
    const { data } = (await here.t.call("GET", "/v1/members")).body;
    expect(data[0].role).toBe("reader");
  }
}, 60_000);

test("who ends their own access may: a key itself, a member itself", async () => {
  const here = await scene();
  const other = await here.t.parley.members.create({ email: "other@example.org", role: "admin" });
  expect(other.role).toBe("admin");
  const own = (page: ConsolePage, body: object) => page.call("PATCH", `/members/${here.member.id}`, { body });
  expect((await own(here.page, { role: "editor" })).status).toBe(200);
  expect((await own(here.page, { role: "admin" })).status).toBe(403);
  const { apiKey, token } = here.key;
  expect((await here.t.call("DELETE", `/v1/apikeys/${apiKey.id}`, { token })).status).toBe(204);
  expect((await here.t.call("GET", "/v1/agents", { token })).status).toBe(401);
});

test("two admins who remove each other at once: one of them is there, and no request is a fault", async () => {
  for (let round = 0; round < 5; round += 1) {
    const t = await h.tenant();
    const people = await Promise.all(
      ["a", "b"].map(async (name) => {
        const email = `${name}-${crypto.randomUUID()}@example.org`;
        const { id } = await t.parley.members.create({ email, role: "admin" });
        return { id, page: await signInPerson(h.app, idp, { email }) };
      }),
    );
    const answers = await Promise.all(
      people.map(({ page }, index) => page.call("DELETE", `/members/${people[1 - index]?.id}`)),
    );
    const [done, refused] = answers.map(({ status }) => status).sort();
    expect(done).toBe(204);
    // It came before the other's end, or is of one who is no member any more.
    expect([401, 409]).toContain(refused as number);
    expect((await t.call("GET", "/v1/members")).body.data).toHaveLength(1);
  }
}, 60_000);
