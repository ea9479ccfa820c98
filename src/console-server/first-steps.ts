import type { StepsDone } from "../console-shapes/sessions.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Returns which first steps a tenant has done. What `npm start` brings, a simulated model and an unchanged agent, does not count. */
export async function readFirstSteps(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  keyId: IdOf<"apiKey"> | null,
): Promise<StepsDone> {
  const [found] = await sql<StepsDone[]>`
    select exists (
        select 1 from providers p where p.tenant_id = ${tenantId} and p.name not like 'Simulated model%' and (
          exists (select 1 from usage_sums u where u.tenant_id = ${tenantId} and u.provider = p.id and u.output_tokens > 0)
          or exists (select 1 from usage u where u.tenant_id = ${tenantId} and not u.summed and u.provider = p.id and u.output_tokens > 0))
      ) as provider, exists (
        select 1 from agents where tenant_id = ${tenantId} and config ->> 'model' is not null
          and (name not like 'Demo agent%' or version > 1)
      ) as agent, exists (
        select 1 from turns where tenant_id = ${tenantId} and status = 'succeeded'
          and kind in ('session', 'generate', 'task', 'chat')
      ) as turn, exists (
        select 1 from api_keys where tenant_id = ${tenantId} and last_used_at is not null and id is distinct from ${keyId}
      ) as key`;
  return found as StepsDone;
}
