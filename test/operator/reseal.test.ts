import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { lockNameOf } from "../../src/kernel/http/idempotency.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createSealer, digest } from "../../src/kernel/seal.ts";
import { tokensSealedFor } from "../../src/mcp-connections/auth/credentials.ts";
import { flowSealedFor } from "../../src/mcp-connections/auth/sign-in-store.ts";
import { reseal } from "../../src/operator/reseal.ts";
import { sealedColumns } from "../../src/operator/sealed-columns.ts";
import { previousSecretSealedFor } from "../../src/webhooks/secret.ts";
import { useTenant } from "../harness/fixture.ts";
import { type Harness, startHarness } from "../harness/harness.ts";
import { startRole } from "../harness/process.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const [oldKey, newKey, lostKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const base64 = (key: Buffer) => key.toString("base64");
const env = { ENCRYPTION_KEY: base64(newKey), ENCRYPTION_KEY_PREVIOUS: base64(oldKey) };
const { h, t } = await useTenant({ env, worker: true });

const old = createSealer({ current: oldKey, previous: [] });
const own = createSealer({ current: newKey, previous: [] });
const both = createSealer({ current: newKey, previous: [oldKey] });

/** What `fill` seals. */
const letters = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

/** Writes one value into every sealed column, as a process with this sealer would. */
async function fill(harness: Harness, tenantId: string, sealer: typeof old): Promise<void> {
  const { sql } = harness;
  const [provider, mcp, merchant, chat] = [
    newId("provider"),
    newId("mcpConnection"),
    newId("merchantConnection"),
    newId("chatConnection"),
  ];
  const name = newId("provider");
  const key = `key ${name}`;
  await sql`
    insert into providers (id, tenant_id, name, provider_type, sealed_key, key_fragment)
    values (${provider}, ${tenantId}, ${name}, 'custom', ${sealer.seal("a", provider)}, '')`;
  await sql`
    insert into mcp_connections (id, tenant_id, name, url, auth_type, status, sealed_credentials, sealed_tokens)
    values (${mcp}, ${tenantId}, ${name}, 'http://x', 'bearer', 'connected', ${sealer.seal("b", mcp)}, ${sealer.seal("c", tokensSealedFor(mcp))})`;
  await sql`
    insert into mcp_sign_ins (digest, mcp_connection_id, credential_version, started_by, sealed_flow, expires_at)
    values (${digest(name)}, ${mcp}, 1, '{}', ${sealer.seal("d", flowSealedFor(mcp))}, now() + interval '1 hour'),
      (${digest(key)}, ${mcp}, 1, '{}', null, now() + interval '1 hour')`;
  await sql`
    insert into merchant_connections (id, tenant_id, provider, environment, merchant_account_id, sealed_credential, key_fragment, guard, retired_at)
    values (${merchant}, ${tenantId}, 'billing_a', 'sandbox', 'x', ${sealer.seal("e", merchant)}, '', '{}', now()),
      (${newId("merchantConnection")}, ${tenantId}, 'billing_a', 'sandbox', 'x', ''::bytea, '', '{}', now())`;
  await sql`
    insert into idempotency_keys (tenant_id, key, request_digest, status, headers, sealed_body)
    values (${tenantId}, ${key}, ''::bytea, 201, '{}', ${sealer.seal("f", lockNameOf({ tenantId, key }))})`;
  await sql`
    insert into chat_connections (id, tenant_id, agent_id, name, platform, enabled, configuration, installation,
      sealed_credentials, credential_fragment, health)
    values (${chat}, ${tenantId}, ${newId("agent")}, ${name}, 'chat_a', false, '{}', ${name}, ${sealer.seal("g", chat)}, '', '{}')`;
  const webhook = newId("webhook");
  await sql`
    insert into webhooks (id, tenant_id, url, events, sealed_secret, sealed_previous_secret)
    values (${webhook}, ${tenantId}, 'http://x', '{run.ended}', ${sealer.seal("h", webhook)}, ${sealer.seal("i", previousSecretSealedFor(webhook))})`;
}

/** How many values of the table open with this sealer. */
async function opened(harness: Harness, sealer: typeof old): Promise<string[]> {
  const found: string[] = [];
  for (const { table, column, sealedFor } of sealedColumns) {
    for (const row of await harness.sql.unsafe(`select *, ${column} as sealed from ${table}`)) {
      if (row.sealed === null || row.sealed.length === 0) continue;
      try {
        found.push(sealer.open(row.sealed, sealedFor(row)));
      } catch {
        found.push("not opened");
      }
    }
  }
  return found.sort();
}

async function command(more: Record<string, string>, ...words: string[]) {
  const child = startRole("reseal", { DATABASE_URL: h.databaseUrl, ...more }, words);
  const status = await child.ended();
  return { status, stdout: child.stdout(), stderr: child.stderr() };
}

test("the list of sealed columns is that of the database", async () => {
  const rows = await h.sql<{ name: string; key: string[] }[]>`
    select c.table_name || '.' || c.column_name as name, array(
      select k.column_name::text from information_schema.table_constraints t
      join information_schema.key_column_usage k using (constraint_name, table_schema)
      where t.constraint_type = 'PRIMARY KEY' and t.table_name = c.table_name and t.table_schema = 'public'
      order by k.ordinal_position) as key
    from information_schema.columns c
    where c.table_schema = 'public' and c.data_type = 'bytea' and c.column_name ~ '^sealed'`;
  const listed = sealedColumns.map(({ table, column, key }) => ({ name: `${table}.${column}`, key: [...key] }));
  const byName = (left: { name: string }, right: { name: string }) => left.name.localeCompare(right.name);
  expect([...rows].sort(byName)).toEqual(listed.sort(byName));
});

describe("npm run reseal", () => {
  test("seals everything with ENCRYPTION_KEY, says how much, and has nothing left to do the second time", async () => {
    await fill(h, t.id, old);
    await fill(h, t.id, own);
    const twice = letters.flatMap((letter) => [letter, letter]);
    expect(await opened(h, both)).toEqual(twice);

    const first = await command(env);
    expect([first.status, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toContain(`${letters.length} sealed values were sealed anew`);
    expect(await opened(h, own)).toEqual(twice);

    const second = await command(env, "--json");
    expect([second.status, JSON.parse(second.stdout).resealed]).toEqual([0, 0]);
    await h.sql`truncate providers, mcp_connections, mcp_sign_ins, merchant_connections, chat_connections, webhooks, idempotency_keys cascade`;
  });

  test("a value under a key that nobody has stays, is named, and the others are sealed", async () => {
    await fill(h, t.id, old);
    await fill(h, t.id, createSealer({ current: lostKey, previous: [] }));
    const { status, stdout, stderr } = await command(env);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`${letters.length} sealed values were sealed anew`);
    expect(stderr).toContain(`${letters.length} could not be opened`);
    expect(stderr).toContain("providers.sealed_key of prv_");
    expect(await opened(h, own)).toEqual([...letters, ...letters.map(() => "not opened")].sort());
    await h.sql`truncate providers, mcp_connections, mcp_sign_ins, merchant_connections, chat_connections, webhooks, idempotency_keys cascade`;
  });

  test("goes through more rows than one step has, and leaves a value alone that is written meanwhile", async () => {
    const rows = Array.from({ length: 450 }, () => {
      const id = newId("provider");
      return {
        id,
        tenant_id: t.id,
        name: id,
        provider_type: "custom",
        key_fragment: "",
        sealed_key: old.seal("k", id),
      };
    });
    await h.sql`insert into providers ${h.sql(rows)}`;
    const [first] = rows.map(({ id }) => id).sort() as [string];
    let written = false;
    // The statement that replaces the first value meets one that was written after it was read.
    const sql = new Proxy(h.sql, {
      get: (target, name, receiver) =>
        name !== "unsafe"
          ? Reflect.get(target, name, receiver)
          : async (text: string, values: never[]) => {
              if (text.startsWith("update") && !written) {
                written = true;
                await h.sql`update providers set sealed_key = ${old.seal("later", first)} where id = ${first}`;
              }
              return target.unsafe(text, values);
            },
    });
    const result = await reseal(sql, both);
    expect([result.done, result.counts.get("providers.sealed_key")]).toEqual([true, 450]);
    expect((await opened(h, own)).filter((text) => text !== "k")).toEqual(["later"]);
    await h.sql`truncate providers cascade`;
  });

  test("without the right key it ends with one line", async () => {
    const { status, stderr } = await command({ ENCRYPTION_KEY: base64(newKey), ENCRYPTION_KEY_PREVIOUS: "short" });
    expect([status, stderr.trimEnd().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("ENCRYPTION_KEY_PREVIOUS");
  });
});

describe("a process without the key of a stored secret", () => {
  let agentId: string;
  beforeAll(async () => {
    agentId = await makeAgent(h, t);
  });

  async function askTurn() {
    return t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { message: userMessage("say hello"), stream: false },
    });
  }
  async function sealProviderWith(sealer: typeof old) {
    const [agent] = await h.sql`select provider_id from agents where id = ${agentId}`;
    const id = agent?.providerId ?? (await h.sql`select id from providers limit 1`)[0]?.id;
    await h.sql`update providers set sealed_key = ${sealer.seal("sk-test-0123456789", id)} where id = ${id}`;
    return id as string;
  }

  test("a previous key opens it", async () => {
    await sealProviderWith(old);
    expect((await askTurn()).status).toBe(201);
  });

  test("503 service_unavailable: and a failed turn, never a 500", async () => {
    const id = await sealProviderWith(createSealer({ current: lostKey, previous: [] }));
    const turn = await askTurn();
    expect([turn.status, turn.body.error.code]).toEqual([503, "service_unavailable"]);
    expect(turn.body.error.message).toContain("cannot be opened");
    await h.sql`update providers set provider_type = 'llm_vendor_a' where id = ${id}`;
    const models = await t.call("GET", `/v1/providers/${id}/models`);
    expect([models.status, models.body.error?.code]).toEqual([503, "service_unavailable"]);
  });
});

describe("a signed URL of a picture", () => {
  test("made with a previous key is good while that key is known", async () => {
    expect(both.isSigned("text", old.sign("text"))).toBe(true);
    expect(both.isSigned("text", own.sign("text"))).toBe(true);
    expect(own.isSigned("text", old.sign("text"))).toBe(false);
    expect(both.isSigned("another", old.sign("text"))).toBe(false);
  });
});

describe("an Idempotency-Key's stored response", () => {
  let before: Harness;
  beforeAll(async () => {
    before = await startHarness({ env: { ENCRYPTION_KEY: base64(oldKey) } });
  });
  afterAll(() => before.stop());

  test("503 service_unavailable: a process with another key, which does the operation not again", async () => {
    const tenant = await before.tenant();
    const request = { body: { name: "only once" }, headers: { "idempotency-key": "k1" } };
    expect((await tenant.call("POST", "/v1/apikeys", request)).status).toBe(201);
    const rows = await before.sql`select * from idempotency_keys`;
    const sealed = createSealer({ current: lostKey, previous: [] }).seal("x", "y");
    await before.sql`update idempotency_keys set sealed_body = ${sealed}`;
    const again = await tenant.call("POST", "/v1/apikeys", request);
    expect([rows.length, again.status, again.body.error.code]).toEqual([1, 503, "service_unavailable"]);
    expect((await tenant.call("GET", "/v1/apikeys")).body.apiKeys).toHaveLength(2);
  });
});
