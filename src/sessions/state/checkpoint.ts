import type { UIMessageChunk } from "ai";
import { type AnySql, json } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { type ClaimKey, runsBy } from "./claim-key.ts";
import { type Allowance, addUsage, spendUsage, tenantGone } from "./spending.ts";
import { recordSteps } from "./turn-columns.ts";
import type { TurnUsage } from "./turn-end.ts";
import type { TurnRecord } from "./turn-step.ts";

/**
 * Checkpoints: what a turn has said and done in each completed step after which the model is
 * called again. When its worker is lost, the turn goes on from the last one
 * (docs/workers.md, "Going on").
 */

/** The claim that has completed a step. */
interface SteppedClaim extends ClaimKey {
  readonly tenantId: IdOf<"tenant">;
  /** Steps of the turn that have a checkpoint already. */
  readonly stepsDone: number;
}

/** What a completed step leaves. */
export interface CompletedStep {
  readonly chunks: readonly UIMessageChunk[];
  /** Events of the turn log up to its end. */
  readonly events: number;
  /** What the turn's row does not have yet. */
  readonly usage: TurnUsage;
  readonly record: TurnRecord;
}

/**
 * Writes a checkpoint, with what was used, in one statement; from here on the runs of the
 * next step are counted. Does so once, however often it is called: the steps that are done
 * are its guard. Returns the credit that is left (null is unlimited), and whether the turn
 * has another claim by now.
 */
export async function writeCheckpoint(
  sql: AnySql,
  claim: SteppedClaim,
  { chunks, events, usage, record }: CompletedStep,
): Promise<Allowance> {
  const [row] = await sql<Allowance[]>`
    with /* turn.step */ stepped as (
      update turns set steps_done = steps_done + 1, step_events = ${events}, tool_events = null, crashes = 0,
        attempts_before = attempt - 1, calls_before = model_calls + ${usage.modelCalls}, ${recordSteps(sql, record)} ${addUsage(sql, usage)}
      where ${runsBy(sql, claim)} and steps_done = ${claim.stepsDone}
      returning id, tenant_id, agent_id, user_id
    ), kept as (
      insert into turn_checkpoints (turn_id, step, chunks) select id, ${claim.stepsDone}, ${json(sql, chunks)} from stepped
    ), ${spendUsage(sql, usage, "stepped")}
    select coalesce((select usage_credit from spent), t.usage_credit) as credit, t.has_budgets, t.prices_version,
      not exists (select 1 from turns where ${runsBy(sql, claim)}) as is_gone
    from tenants t where t.id = ${claim.tenantId}`;
  return row ?? tenantGone;
}

/** Returns the chunks of a turn's completed steps since it began, or since its last continuation did. */
export async function readCheckpoints(sql: AnySql, turnId: string): Promise<UIMessageChunk[]> {
  const rows = await sql<{ chunks: UIMessageChunk[] }[]>`
    select /* checkpoint.read */ chunks from turn_checkpoints where turn_id = ${turnId} order by step`;
  return rows.flatMap(({ chunks }) => chunks);
}

/** Which claim has begun its turn log anew, and how many events of that lie before the step under way. */
interface NewLog extends ClaimKey {
  readonly continuationId: string | null;
  readonly events: number;
}

/** Notes that a claim has begun the turn log anew, because the relay has lost it. Returns false when the claim is gone. */
export async function noteNewLog(sql: AnySql, log: NewLog): Promise<boolean> {
  const own = log.continuationId === null ? sql`, log_attempt = attempt, log_after_loss = true` : sql``;
  const rows = await sql`
    with /* checkpoint.note_events */ moved as (
      update turns set step_events = ${log.events} ${own} where ${runsBy(sql, log)}
      returning continuation_id
    ), log as (
      update continuations c set log_attempt = ${log.attempt}, log_after_loss = true from moved where c.id = moved.continuation_id
    )
    select 1 from moved`;
  return rows.length > 0;
}
