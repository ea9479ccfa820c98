import { expect, test } from "bun:test";
import type { Sql } from "../../../src/kernel/database/client.ts";
import { QueueGauges } from "../../../src/kernel/queue/gauges.ts";
import { readTenantTokens } from "../../../src/kernel/queue/tenant-tokens.ts";
import { useService } from "../../harness/fixture.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { samplesOf } from "../../harness/prometheus.ts";

const h = await useService();
/** Twelve tenants with two agents each: the n-th has used n hundred tokens today, and the first the most of yesterday. */
await h.sql`
  insert into usage_sums (tenant_id, day, agent_id, turns, input_tokens, output_tokens, duration_ms)
  select 'ten_' || n, (now() at time zone 'utc')::date, 'ag_' || agent, 1, n * 30, n * 20, 1
  from generate_series(1, 12) n, generate_series(1, 2) agent`;
await h.sql`
  insert into usage_sums (tenant_id, day, agent_id, turns, input_tokens, output_tokens, duration_ms)
  values ('ten_1', (now() at time zone 'utc')::date - 1, 'ag_1', 1, 1000000, 0, 1)`;

test("the ten tenants with the most tokens of today are told, and only where a token guards them", async () => {
  const text = await new QueueGauges(h.sql, { tellTenants: true }).text();
  const told = samplesOf(text).filter(({ name }) => name === "parley_tenant_tokens_today");
  const expected = Array.from({ length: 10 }, (_, place) => [`ten_${12 - place}`, (12 - place) * 100]);
  expect(told.map(({ labels, value }) => [labels.tenant, value])).toEqual(expected as [string, number][]);
  expect(await new QueueGauges(h.sql, { tellTenants: false }).text()).not.toContain("parley_tenant_tokens");
});

test("sums of other days are not looked at, however many there are", async () => {
  await h.sql`
    insert into usage_sums (tenant_id, day, agent_id, turns, input_tokens, output_tokens, duration_ms)
    select 'ten_' || n, date '2020-01-01' + n % 300, 'ag_1', 1, n, n, 1 from generate_series(1, 30000) n`;
  await h.sql`analyze usage_sums`;
  const plan = await withPatientClient(h.databaseUrl, async (sql) => {
    const sent: { text: string; parameters: unknown[] }[] = [];
    sql.options.debug = (_connection: number, text: string, parameters: unknown[]) =>
      void sent.push({ text, parameters });
    await readTenantTokens(sql as unknown as Sql);
    // The driver asks for the types of the database first.
    const { text, parameters } = sent.find((one) => one.text.includes("gauge.tokens")) as (typeof sent)[number];
    return sql.unsafe(`explain ${text}`, parameters as never[]);
  });
  expect(JSON.stringify(plan)).toContain("usage_sums_of_day");
});
