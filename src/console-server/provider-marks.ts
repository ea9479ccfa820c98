import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { TurnStep } from "../sessions/state/turn-step.ts";

/** What a tenant's provider said last of a turn that it failed. */
interface ProviderMark {
  readonly providerId: string;
  readonly turnId: IdOf<"turn">;
  readonly at: string;
  readonly model: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string;
}

/** Failed turns that are looked through, the newest first. */
const lookedThroughMax = 200;

/** Returns the last failure of each provider of a tenant that has one among the newest failed turns. */
export async function readProviderMarks(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  agentIds: AgentIds,
): Promise<ProviderMark[]> {
  const turns = await sql<{ id: IdOf<"turn">; steps: TurnStep[] | null }[]>`
    select id, steps from turns
    where tenant_id = ${tenantId} and status = 'failed' and error ->> 'code' = 'provider_error' ${andOf(sql, sql`agent_id`, agentIds)}
    order by accepted_at desc limit ${lookedThroughMax}`;
  const last = new Map<string, ProviderMark>();
  for (const { id, steps } of turns) {
    const failure = steps?.at(-1)?.failures?.findLast(({ endedTurn }) => endedTurn === true);
    if (failure === undefined || last.has(failure.providerId)) continue;
    const { providerId, at, model, status, code, message } = failure;
    last.set(providerId, { providerId, turnId: id, at, model, status, code, message });
  }
  return [...last.values()];
}
