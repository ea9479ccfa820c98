import type postgres from "postgres";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import type { Ctx } from "../../kernel/context.ts";
import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { unavailable, violatedConstraint } from "../../kernel/database/failure.ts";
import { ApiError } from "../../kernel/errors.ts";
import { keepTurnsSql } from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { lineTurnsMax } from "../../kernel/limits.ts";
import { announceCancel, type CanceledTurn, cancelActive } from "../cancel/cancel.ts";
import { shownOfQueued } from "../end/progress.ts";
import type { TurnBody } from "../schema.ts";
import { sessionBusy } from "../state/busy.ts";
import { ringLine } from "../state/line.ts";
import { type AcceptedTurn, acceptedOf } from "./accepted.ts";
import { andHasPlace, tooManyTurns } from "./queued-turns.ts";
import { checkMessageId } from "./turn-body.ts";
import { askedRow, type NewTurn } from "./turn-row.ts";
import { acceptInTransaction } from "./write.ts";

/** What a turn does that comes while another one of its session is unfinished. */
export type OnBusy = "reject" | "enqueue" | "interrupt";

/** A turn of an existing session. */
export type LineTurn = NewTurn & { readonly sessionId: IdOf<"session"> };

/**
 * Writes a turn into the line of its session: `enqueue` at its end, `interrupt` at its
 * beginning, and the turn that holds the line is cancelled, keeping what it said. The gates
 * (credit, quota, the agent's state) are asked when the turn starts.
 *
 * Throws 400 for the id of a message that the session has, 404, 409 `session_busy` when `lineTurnsMax` wait, 422 for a known Idempotency-Key, 429 `too_many_turns`, 503.
 */
export async function enqueueTurn(
  ctx: Ctx,
  request: {
    readonly principal: Principal;
    readonly body?: TurnBody;
    readonly alongside?: ((inner: Tx, accepted: AcceptedTurn) => Promise<void>) | undefined;
  },
  turn: LineTurn,
  onBusy: Exclude<OnBusy, "reject">,
): Promise<AcceptedTurn> {
  let canceled: CanceledTurn | null = null;
  const accepted = acceptedOf(turn);
  const shown = onBusy === "interrupt" ? await shownOfQueued(ctx, turn) : null;
  await acceptInTransaction(ctx, request.principal, turn, async (inner) => {
    canceled = null;
    await takePlace(inner, turn);
    const isHeld = await insertIntoLine(inner, turn, onBusy === "interrupt" ? "first" : "last");
    // Behind the lock, so that of many at once one has the id; and behind the key, by which a repeat is known.
    await checkMessageId(inner, turn.sessionId, request.body ?? {}, { besides: turn.turnId });
    // The end of the turn that holds the line starts the next one.
    if (!isHeld) await ringLine(inner, turn.sessionId, turn.tenantId);
    else if (onBusy === "interrupt")
      canceled = await cancelActive(inner, { session: turn }, { keep: "partial", shown });
    await request.alongside?.(inner, accepted);
  });
  if (canceled !== null) announceCancel(ctx, canceled);
  return accepted;
}

/**
 * The move *enqueue*: writes a turn at the end of the line, or before its first, with its Idempotency-Key. The caller
 * holds the lock on the session's row. Returns whether the line is held by an unfinished turn, whose end starts
 * the next one. Throws 422 where the key is known.
 */
export async function insertIntoLine(inner: Tx, turn: LineTurn, place: "first" | "last"): Promise<boolean> {
  const at = place === "first" ? inner`min(line_place), 0) - 1` : inner`max(line_place), 0) + 1`;
  const line = inner`(select coalesce(${at} from turns where session_id = ${turn.sessionId} and status = 'enqueued')`;
  const write = inner<{ isHeld: boolean }[]>`
    with /* turn.enqueue */ asked as not materialized (${askedRow(inner, (read) => read(turn, inner) as postgres.Fragment)}), home as (
      update sessions s set line = line + 1 where id = ${turn.sessionId}
      returning s.id, s.user_id, s.visible, coalesce(s.pinned_version, (select version from agents a where a.id = s.agent_id), 0) as version
    ), accepted as (
      insert into turns (id, tenant_id, agent_id, session_id, kind, status, line_place, regenerates, agent_version, trigger, input,
        assistant_message_id, first_of_hidden_session, user_id, metadata, request_id, traceparent, response_format, caller_options)
      select turn_id, tenant_id, agent_id, home.id, kind, 'enqueued', ${line}, ${turn.regenerates}, home.version, trigger, input,
        assistant_message_id, not home.visible, home.user_id, metadata, request_id, traceparent, response_format, caller_options
      from asked cross join home
      returning id
    ), kept as (${keepTurnsSql(inner)})
    select exists (
      select 1 from turns where session_id = ${turn.sessionId} and status in ('queued', 'running', 'waiting')) as is_held`;
  try {
    const [row] = await write;
    return row?.isHeld ?? false;
  } catch (error) {
    if (violatedConstraint(error) === "idempotency_keys_pkey") throw new ApiError("idempotency_key_reused");
    throw error;
  }
}

/** Locks the session, so that its line changes for nobody else. Throws where it cannot take one more turn. */
async function takePlace(inner: Tx, turn: LineTurn): Promise<void> {
  const [session] = await inner<{ line: number; isLate: boolean; hasPlace: boolean }[]>`
    select /* session.lock_line */ line, clock_timestamp() >= ${turn.writeBefore} as is_late, true ${andHasPlace(inner, turn)} as has_place from sessions
    where id = ${turn.sessionId} and ${byKeyOnly(inner, inner`tenant_id`)} = ${turn.tenantId}
      and ${byKeyOnly(inner, inner`agent_id`)} = ${turn.agentId} and deleted_at is null
    for no key update`;
  if (session === undefined) throw new ApiError("not_found");
  if (session.isLate) throw unavailable();
  if (!session.hasPlace) throw tooManyTurns(turn.queuedTurnsMax);
  if (session.line >= lineTurnsMax) throw await lineFull(inner, turn.sessionId as string);
}

/** Returns the error 409 `session_busy` of a line that takes no more turns. */
async function lineFull(inner: Tx, sessionId: string): Promise<ApiError> {
  const { details } = await sessionBusy(inner, sessionId);
  return new ApiError("session_busy", {
    message: `${lineTurnsMax} turns wait in the line of this session, as many as may.`,
    details: { ...details, waitsFor: "line" },
  });
}
