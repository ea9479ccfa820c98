import type { Principal } from "../../kernel/auth/authenticator.ts";
import { quotaExceeded } from "../../kernel/auth/gates.ts";
import { requireProof } from "../../kernel/auth/proof.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { Sql, Tx } from "../../kernel/database/client.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { isCommitUnsure, tx } from "../../kernel/database/transaction.ts";
import { waitForKey } from "../../kernel/http/idempotency.ts";
import { databaseWaitMs } from "../../kernel/limits.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnBody } from "../schema.ts";
import { type AcceptedTurn, acceptedOf } from "./accepted.ts";
import { insertTurn, insertTurnTogether } from "./insert.ts";
import { inQueueOf, isOwnLimit, lockQueueOf } from "./queued-turns.ts";
import { refuseBy } from "./refusal.ts";
import { findKeepSeq, lockIdle } from "./regenerate.ts";
import type { NewTurn } from "./turn-row.ts";

/** What writing a turn needs of the request for it. */
interface WrittenRequest {
  readonly principal: Principal;
  readonly body?: TurnBody;
  readonly alongside?: ((inner: Tx, accepted: AcceptedTurn) => Promise<void>) | undefined;
}

/**
 * Writes a turn and returns it: in one statement, which many turns share, where that is enough; in a transaction with a quota, a limit of
 * queued turns of the tenant's own, a regeneration or `alongside`. Throws the refusal of either, such as 429 `budget_exceeded`, `findKeepSeq`'s, and 429 `quota_exceeded`.
 */
export async function writeTurn(
  ctx: Ctx,
  { principal, ...request }: WrittenRequest,
  turn: NewTurn,
): Promise<AcceptedTurn> {
  const quota = principal.tenant.quotaTurnsPerDay;
  const accepted = acceptedOf(turn);
  if (isOneStatement(principal, request, turn)) {
    await refuseBy({ pool: ctx.sql, sql: ctx.sql }, principal, turn, await insertTurnTogether(ctx.sql, turn));
    return accepted;
  }
  requireProof(principal);
  await acceptInTransaction(ctx, principal, turn, async (inner) => {
    // The quota's row before the session's, in a regeneration too: otherwise two turns could wait for each other.
    if (quota !== null) await countTowardsQuota(inner, turn.tenantId, quota);
    const row = turn.input === null ? await withKeepSeq(inner, turn, request.body ?? {}) : turn;
    await refuseBy({ pool: ctx.sql, sql: inner }, principal, turn, await insertTurn(inner, row));
    await request.alongside?.(inner, accepted);
  });
  return accepted;
}

/** Returns whether one statement writes all of a turn, and looks at all that may refuse it. */
function isOneStatement(
  { tenant }: Principal,
  { alongside }: Pick<WrittenRequest, "alongside">,
  { input }: Pick<NewTurn, "input">,
): boolean {
  return tenant.quotaTurnsPerDay === null && !isOwnLimit(tenant) && input !== null && alongside === undefined;
}

/** Returns a regeneration with the place that it keeps; one of a message that the transcript does not hold is a turn like any other. */
async function withKeepSeq(inner: Tx, turn: NewTurn, body: TurnBody): Promise<NewTurn> {
  await lockIdle(inner, turn);
  const keepSeq = await findKeepSeq(inner, turn, body);
  if (keepSeq !== null) return { ...turn, keepSeq };
  return { ...turn, trigger: "submit-message", input: body.message as UiMessage };
}

/**
 * Runs the transaction that accepts a turn, which `write` writes; those of a tenant with a limit of queued turns of
 * its own come one after another, and so do those under one Idempotency-Key. Throws as `write`.
 */
export function acceptInTransaction(
  ctx: Ctx,
  principal: Principal,
  turn: NewTurn,
  write: (inner: Tx) => Promise<void>,
): Promise<void> {
  const counts = isOwnLimit(principal.tenant);
  const accept = async (inner: Tx) => {
    if (turn.key !== null) await waitForKey(inner, turn.key);
    if (counts) await lockQueueOf(inner, turn.tenantId);
    await write(inner);
  };
  const run = () => commitSurely(ctx.sql, turn, accept);
  return counts ? inQueueOf(turn.tenantId, run) : run();
}

/** The lookup after a commit that lost its connection has at least this long, however late that was. */
const lookUpMs = 1_000;

/**
 * Runs the accepting transaction. When the connection breaks during the commit, it is
 * unknown whether the turn was written: then it is looked up by its id, after a wait for
 * the locks that an unfinished commit still holds. Without the lookup a caller could get
 * 503 for a turn that runs.
 */
async function commitSurely(
  sql: Sql,
  { turnId, sessionId, key }: NewTurn,
  accept: (inner: Tx) => Promise<void>,
): Promise<void> {
  const startedAt = Date.now();
  try {
    await tx(sql, accept);
  } catch (error) {
    if (!isCommitUnsure(error)) throw error;
    const lookUp = () =>
      tx(sql, async (inner) => {
        if (key !== null) await waitForKey(inner, key);
        await inner`select /* session.lock */ 1 from sessions where id = ${sessionId} for no key update`;
        return inner`select /* turn.exists */ 1 from turns where id = ${turnId}`;
      });
    const limitMs = Math.max(lookUpMs, databaseWaitMs - (Date.now() - startedAt));
    const found = await retryWhileUnavailable(lookUp, { limitMs }).catch(() => []);
    if (found.length === 0) throw error;
  }
}

/**
 * Counts one turn of the UTC day. Throws 429 `quota_exceeded` when the day's quota is used
 * up. The lock on the count's row keeps concurrent turns within the quota.
 */
export async function countTowardsQuota(inner: Tx, tenantId: string, quota: number): Promise<void> {
  const rows = await inner`
    insert /* quota.count */ into turn_quota_days as q (tenant_id, day, turns)
    select ${tenantId}, (now() at time zone 'UTC')::date, 1 where ${quota} > 0
    on conflict (tenant_id, day) do update set turns = q.turns + 1 where q.turns < ${quota}
    returning turns`;
  if (rows.length === 0) throw quotaExceeded(new Date(), quota);
}
