import { describe, expect, test } from "bun:test";
import type { Form } from "../../../src/kernel/errors.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { useAgent } from "../../harness/fixture.ts";
import type { TestTenant } from "../../harness/harness.ts";

/** The lists that have pages for those who ask for them. */
const { h, agentId } = await useAgent();

type Kind = Parameters<typeof newId>[0];

interface PagedList {
  readonly path: string;
  readonly name: string;
  readonly kind: Kind;
  readonly table: string;
  /** The order of the list, as SQL. */
  readonly order: string;
  readonly index: string;
  /** Where in the list a new row comes. */
  readonly newest: "first" | "last" | "by name";
  /** Columns that a row has beside id, tenant, name and times; `n` is the row's number. */
  readonly columns: string;
  readonly values: string;
}

const health = `{"checkedAt":null,"tokenValid":true,"identityVerified":true,"checks":[]}`;
const updated = { order: "updated_at desc, id desc", newest: "first" } as const;
const created = { order: "created_at, id", newest: "last" } as const;

const lists: readonly PagedList[] = [
  {
    ...updated,
    ...{ path: "agents", name: "agents", kind: "agent", table: "agents", index: "agents_updated" },
    columns: "config",
    values: `(select config from agents where id = '${agentId}')`,
  },
  {
    ...updated,
    ...{ path: "providers", name: "providers", kind: "provider", table: "providers", index: "providers_updated" },
    columns: "provider_type, sealed_key, key_fragment",
    values: "'gateway', '', ''",
  },
  {
    ...updated,
    ...{ path: "prompts", name: "prompts", kind: "prompt", table: "prompts", index: "prompts_updated" },
    columns: "template",
    values: "'x'",
  },
  {
    ...created,
    ...{ path: "apikeys", name: "apiKeys", kind: "apiKey", table: "api_keys", index: "api_keys_tenant" },
    columns: "digest, fragment",
    values: "sha256(convert_to(id, 'UTF8')), ''",
  },
  {
    ...created,
    ...{ path: "chat-connections", name: "chatConnections", kind: "chatConnection", table: "chat_connections" },
    index: "chat_connections_tenant",
    columns:
      "agent_id, platform, enabled, configuration, installation, sealed_credentials, credential_fragment, health",
    values: `'${agentId}', 'chat_a', true, '{"channelIds":[]}', id, '', '', '${health}'`,
  },
  {
    ...{ path: "mcp-connections", name: "mcpConnections", kind: "mcpConnection", table: "mcp_connections" },
    index: "mcp_connections_name",
    order: "name",
    newest: "by name",
    columns: "url, auth_type, status",
    values: "'https://mcp.example.org', 'none', 'connected'",
  },
];

/** Adds rows to a list: two of them a microsecond apart, and two at the same moment. Returns their ids in the list's order. */
async function fill(list: PagedList, t: TestTenant, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(list.kind));
  const times = list.table === "api_keys" ? ["created_at"] : ["created_at", "updated_at"];
  await h.sql.unsafe(
    `insert into ${list.table} (id, tenant_id, name, ${times.join(", ")}, ${list.columns})
     select id, $2, substr('Zaé', (1 + n % 3)::int, 1) || id, ${times.map(() => "at").join(", ")}, ${list.values}
     from (select id, n, clock_timestamp() + (n / 2) * interval '1 microsecond' as at
       from unnest($1::text[]) with ordinality as given(id, n)) made`,
    [ids as string[], t.id],
  );
  return order(list, t);
}

async function order(list: PagedList, t: TestTenant): Promise<string[]> {
  const rows = await h.sql.unsafe(`select id from ${list.table} where tenant_id = $1 order by ${list.order}`, [t.id]);
  return rows.map(({ id }) => id);
}

async function ask(list: PagedList, t: TestTenant, query: string, form: Form = "b") {
  const { status, body } = await t.call("GET", `/v1/${list.path}${query}`, { form });
  return { status, body, ids: (body[list.name] ?? []).map(({ id }: { id: string }) => id) as string[] };
}

for (const list of lists)
  describe(`GET /v1/${list.path}`, () => {
    for (const form of ["a", "b"] as const)
      test(`200 in form ${form}: pages hold each row once, also one that comes in between; without limit and cursor all rows`, async () => {
        const t = await h.tenant();
        const ids = await fill(list, t, 7);
        const whole = await ask(list, t, "", form);
        expect([Object.keys(whole.body), whole.ids]).toEqual([[list.name], ids]);
        const seen: string[] = [];
        let cursor: string | null = null;
        do {
          const { body, ids: page } = await ask(list, t, `?limit=3${cursor === null ? "" : `&cursor=${cursor}`}`, form);
          if (cursor === null) await fill(list, t, 2);
          expect(Object.keys(body)).toEqual([list.name, "nextCursor"]);
          seen.push(...page);
          cursor = body.nextCursor;
        } while (cursor !== null);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((id) => ids.includes(id))).toEqual(ids);
        if (list.newest !== "by name") expect(seen.length).toBe(ids.length + (list.newest === "last" ? 2 : 0));
        const all = await order(list, t);
        const exact = await ask(list, t, `?limit=${all.length}`, form);
        expect([exact.ids, exact.body.nextCursor]).toEqual([all, null]);
      });

    test("200: a cursor alone asks for a page of 50; 400 invalid_cursor for one that is none, or of another list or tenant", async () => {
      const t = await h.tenant();
      const ids = await fill(list, t, 55);
      const { body } = await ask(list, t, "?limit=1");
      const next = await ask(list, t, `?cursor=${body.nextCursor}`);
      expect([next.ids, typeof next.body.nextCursor]).toEqual([ids.slice(1, 51), "string"]);
      for (const limit of ["0", "201", "-1", "x", ""]) {
        const refused = await ask(list, t, `?limit=${limit}`);
        expect([refused.status, refused.body.error.details.issues[0].path]).toEqual([400, "limit"]);
      }
      expect((await ask(list, t, "?limit=200")).status).toBe(200);
      const other = await h.tenant();
      const elsewhere =
        lists.find(({ order: sorted, path }) => sorted === list.order && path !== list.path) ?? lists[0];
      for (const refused of [
        await ask(list, t, "?cursor="),
        await ask(list, t, "?cursor=bm9uZQ"),
        await ask(list, t, `?cursor=${body.nextCursor.slice(0, -8)}`),
        await ask(list, other, `?cursor=${body.nextCursor}`),
        await ask(elsewhere as PagedList, t, `?cursor=${body.nextCursor}`),
      ])
        expect([refused.status, refused.body.error.code]).toEqual([400, "invalid_cursor"]);
    });

    test("200: without limit and cursor 1,000 rows at most, then with a cursor for the rest", async () => {
      const t = await h.tenant();
      const some = await fill(list, t, 1_000 - (list.table === "api_keys" ? 1 : 0));
      expect(some.length).toBe(1_000);
      const all = await ask(list, t, "");
      expect([all.ids, Object.keys(all.body)]).toEqual([some, [list.name]]);
      const more = await fill(list, t, 3);
      const whole = await ask(list, t, "");
      expect(whole.ids).toEqual(more.slice(0, 1_000));
      const rest = await ask(list, t, `?cursor=${whole.body.nextCursor}`);
      expect([rest.ids, rest.body.nextCursor]).toEqual([more.slice(1_000), null]);
    });

    test("reads an index in the list's order", async () => {
      const t = await h.tenant();
      await fill(list, t, 10_000);
      await h.sql.unsafe(`analyze ${list.table}`);
      const plan = JSON.stringify(
        await h.sql.unsafe(
          `explain select * from ${list.table} where tenant_id = '${t.id}' order by ${list.order} limit 51`,
        ),
      );
      expect(plan).toContain(list.index);
      expect(plan).not.toContain("Sort");
      await h.sql.unsafe(`delete from ${list.table} where tenant_id = '${t.id}'`);
    });
  });

test("GET /v1/agents and /v1/prompts page within a userId, and refuse a cursor of another one", async () => {
  const t = await h.tenant();
  const userId = "😀".repeat(256);
  for (const list of lists.filter(({ path }) => path === "agents" || path === "prompts")) {
    const ids = await fill(list, t, 6);
    await h.sql.unsafe(`update ${list.table} set user_id = $1 where id = any($2)`, [userId, ids.slice(0, 5)]);
    const query = `limit=3&userId=${encodeURIComponent(userId)}`;
    const first = await ask(list, t, `?${query}`);
    const second = await ask(list, t, `?${query}&cursor=${first.body.nextCursor}`);
    expect([...first.ids, ...second.ids, second.body.nextCursor]).toEqual([...ids.slice(0, 5), null]);
    const foreign = await ask(list, t, `?userId=other&cursor=${first.body.nextCursor}`);
    expect([foreign.status, foreign.body.error.code]).toEqual([400, "invalid_cursor"]);
  }
});

test("a client walks the pages of agents row by row", async () => {
  const t = await h.tenant();
  const ids = await fill(lists[0] as PagedList, t, 5);
  const walked: string[] = [];
  for await (const { id } of t.parley.agents.listAll({ limit: 2 })) walked.push(id);
  expect(walked).toEqual(ids);
});
