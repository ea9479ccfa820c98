import type { AnySql } from "../../kernel/database/client.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";
import { turnsEnded } from "../../kernel/telemetry/metrics.ts";
import { type EventRows, tellWebhooks } from "../../webhooks/events.ts";
import { askMove, endContinuation } from "../state/continuation.ts";
import type { TurnKind } from "../state/turn.ts";
import { stepBegins } from "../state/turn-columns.ts";
import type { TurnOutcome } from "../state/turn-end.ts";
import { ofRow } from "./end.ts";
import { addWholeClaim, appendMessages, book, extendAnswer, findEnding, grownBytes, spend } from "./end-parts.ts";
import { type Fence, wholeRow } from "./end-row.ts";

/**
 * The move *ask* (`../state/turn.ts`): a turn stops to ask a person, or its caller. Writes its continuation and what it
 * waits for, tells webhooks, and adds the job that tells a chat. Returns false, having written nothing, when the claim is
 * gone, or somebody has asked the turn to stop.
 */
export async function askTurn(sql: AnySql, fence: Fence, outcome: TurnOutcome): Promise<boolean> {
  const [asked] = await sql<{ kind: TurnKind }[]>`
    with /* turn.ask */ ${findEnding(sql, wholeRow(fence, outcome))}, ended as (
      update turns t set status = 'waiting', error = null, continuation_id = was.continuation_id, worker_id = null, claimed_at = null,
        ${stepBegins(sql)}, ${addWholeClaim(sql)}
      from was where t.id = was.id
      returning t.*, ${ofRow(sql)}
    ), forgotten as (
      delete from turn_checkpoints k using ended e where k.turn_id = e.id
    ), ${appendMessages(sql)}, ${extendAnswer(sql)}, session as (
      update sessions s set message_count = message_count + e.new_message_count, bytes = s.bytes + ${grownBytes(sql)},
        updated_at = now(), last_message_preview = coalesce(e.new_preview, last_message_preview)
      from ended e where s.id = e.session_id
    ), ${endContinuation(sql)}, ${askMove(sql)}, ${book(sql)}, ${spend(sql)}, ${tellWebhooks(sql, [asks(sql, "approval.requested", "approval"), asks(sql, "tool_call.requested", "called")])},
    followed as (
      select (${addJobSql(sql, "turn.after", { stopId: sql`e.continuation_id`, turnId: sql`e.id`, tenantId: sql`e.tenant_id` })}).id
      from ended e where e.kind = 'chat'
    )
    select kind, (select count(*) from followed), (select count(*) from webhook_enqueued) from ended`;
  if (asked === undefined) return false;
  turnsEnded.inc({ outcome: "waiting", kind: asked.kind });
  return true;
}

/** A turn waits for each of these. */
function asks(sql: AnySql, type: "approval.requested" | "tool_call.requested", rows: "approval" | "called"): EventRows {
  return {
    type,
    from: sql`${sql(rows)} a cross join ended e`,
    tenantId: sql`e.tenant_id`,
    ids: {
      ...(rows === "approval" ? { approvalId: sql`a.id` } : {}),
      toolCallId: sql`a.tool_call_id`,
      turnId: sql`e.id`,
      agentId: sql`e.agent_id`,
      sessionId: sql`e.session_id`,
      continuationId: sql`e.continuation_id`,
    },
    status: sql`'pending'`,
  };
}
