import { Gauge, type Registry } from "prom-client";
import type { AnySql } from "../database/client.ts";

/** The tenants that are told apart, those with the most; the labels of a metric must stay few. */
const tenantsMax = 10;
/** Sums of the day that are added up, the largest. A tenant has one for each agent and model. */
const sumsMax = 20_000;

/** What a tenant used. */
export interface TenantTokens {
  readonly tenantId: string;
  readonly tokens: number;
}

/** Returns the tenants with the most tokens of today, from the sums of usage. It follows an index and stops at `sumsMax` sums. */
export function readTenantTokens(sql: AnySql): Promise<TenantTokens[]> {
  return sql<TenantTokens[]>`
    select /* gauge.tokens */ tenant_id, sum(tokens)::float8 as tokens from (
      select tenant_id, input_tokens + output_tokens as tokens from usage_sums where day = (now() at time zone 'utc')::date
      order by input_tokens + output_tokens desc limit ${sumsMax}) as largest
    group by tenant_id order by tokens desc, tenant_id limit ${tenantsMax}`;
}

/** Adds their gauge to a registry. */
export function gaugeTenantTokens(registry: Registry, tenants: readonly TenantTokens[]): void {
  const gauge = new Gauge({
    name: "parley_tenant_tokens_today",
    help: "Tokens in and out since midnight UTC of the tenants with the most.",
    labelNames: ["tenant"],
    registers: [registry],
  });
  for (const { tenantId, tokens } of tenants) gauge.set({ tenant: tenantId }, tokens);
}
