import type { ProviderMark } from "../console-shapes/marks.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { TurnStep } from "../sessions/state/turn-step.ts";

/** Failed turns that are looked through, the newest first. */
const lookedThroughMax = 200;

/** A vendor that answers so refuses the request, and would take another one. */
const ofRequest: ReadonlySet<number | null> = new Set([400, 413, 422]);

/** What a turn that a provider failed says of it. */
interface FailedTurn {
  readonly id: IdOf<"turn">;
  readonly isRecent: boolean;
  /** Of the last step: the calls of a model that failed in it. */
  readonly failures: TurnStep["failures"] | null;
}

/** Returns the last failure of each provider of a tenant that has one among the newest failed turns, and how many of those are of the last hour and not by a request that no vendor would take. */
export async function readProviderMarks(
  sql: AnySql,
  tenantId: IdOf<"tenant">,
  agentIds: AgentIds,
): Promise<ProviderMark[]> {
  const turns = await sql<FailedTurn[]>`
    select id, accepted_at > now() - interval '1 hour' as is_recent, steps -> -1 -> 'failures' as failures from turns
    where tenant_id = ${tenantId} and status = 'failed' and error ->> 'code' = 'provider_error' ${andOf(sql, sql`agent_id`, agentIds)}
    order by accepted_at desc limit ${lookedThroughMax}`;
  const marks = new Map<string, ProviderMark>();
  for (const { id, isRecent, failures } of turns) {
    const failure = failures?.findLast(({ endedTurn }) => endedTurn === true);
    if (failure === undefined) continue;
    const { providerId, at, model, status, code, message } = failure;
    const mark = marks.get(providerId) ?? { providerId, turnId: id, at, model, status, code, message, failedInHour: 0 };
    marks.set(providerId, { ...mark, failedInHour: mark.failedInHour + (isRecent && !ofRequest.has(status) ? 1 : 0) });
  }
  return [...marks.values()];
}
