import type { Principal } from "../../kernel/auth/authenticator.ts";
import { quotaExceeded } from "../../kernel/auth/gates.ts";
import { noteProof, requireProof } from "../../kernel/auth/proof.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { Sql, Tx } from "../../kernel/database/client.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { isCommitUnsure, tx } from "../../kernel/database/transaction.ts";
import { ApiError } from "../../kernel/errors.ts";
import { dropOldKey, type IdempotencyKey, keepTurn, waitForKey } from "../../kernel/http/idempotency.ts";
import { databaseWaitMs } from "../../kernel/limits.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnBody } from "../schema.ts";
import { type AcceptedTurn, acceptedOf } from "./accepted.ts";
import { insertTurn, insertTurnTogether } from "./insert.ts";
import { joinByKey } from "./join-by-key.ts";
import { inQueueOf, isOwnLimit, lockQueueOf } from "./queued-turns.ts";
import { refuseBy } from "./refusal.ts";
import { findKeepSeq, lockIdle } from "./regenerate.ts";
import type { NewTurn } from "./turn-row.ts";

/** What writing a turn needs of the request for it. */
interface WrittenRequest {
  readonly principal: Principal;
  readonly key: IdempotencyKey | null;
  readonly body?: TurnBody;
  readonly alongside?: ((inner: Tx, accepted: AcceptedTurn) => Promise<void>) | undefined;
}

/**
 * Writes a turn and returns it: in one statement, which many turns share, where that is enough; in a transaction with a quota, a limit of
 * queued turns of the tenant's own, a regeneration or `alongside`. Throws the refusal of either, `findKeepSeq`'s, and 429 `quota_exceeded`.
 */
export async function writeTurn(
  ctx: Ctx,
  { principal, key, ...request }: WrittenRequest,
  turn: NewTurn,
): Promise<AcceptedTurn> {
  const quota = principal.tenant.quotaTurnsPerDay;
  const accepted = acceptedOf(turn);
  if (isOneStatement(principal, request, turn)) {
    const write = () => insertTurnTogether(ctx.sql, { ...turn, key });
    const word = await write();
    if (word !== "repeated" || key === null) refuseBy(ctx.sql, principal, turn, word);
    else if (await dropOldKey(ctx.sql, key)) refuseBy(ctx.sql, principal, turn, await write());
    else {
      noteProof(principal);
      const joined = await joinByKey(ctx.sql, ctx, key);
      if (joined === null) throw new ApiError("idempotency_key_reused");
      return joined;
    }
    return accepted;
  }
  requireProof(principal);
  const keepsKeyFor = turn.newSession && !turn.visible ? turn.sessionId : null;
  return writeAccepted(ctx, { principal, key }, { ...turn, keepsKeyFor }, async (inner) => {
    // The quota's row before the session's, in a regeneration too: otherwise two turns could wait for each other.
    if (quota !== null) await countTowardsQuota(inner, turn.tenantId, quota);
    const row = turn.input === null ? await withKeepSeq(inner, turn, request.body ?? {}) : turn;
    refuseBy(ctx.sql, principal, turn, await insertTurn(inner, row));
    await request.alongside?.(inner, accepted);
    return accepted;
  });
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
  await lockIdle(inner, turn.sessionId);
  const keepSeq = await findKeepSeq(inner, turn, body);
  if (keepSeq !== null) return { ...turn, keepSeq };
  return { ...turn, trigger: "submit-message", input: body.message as UiMessage };
}

/** The turn that `writeAccepted` writes. */
interface WrittenTurn extends Pick<NewTurn, "turnId" | "tenantId" | "sessionId"> {
  /** A session that nobody sees yet: the key is given up with it. */
  readonly keepsKeyFor: string | null;
}

/**
 * Runs the transaction that accepts a turn: `write` writes it, unless the Idempotency-Key
 * joins another one; those of a tenant with a limit of queued turns of its own come one after
 * another. Returns the turn. Throws as `write` and `joinByKey`.
 */
export function writeAccepted(
  ctx: Ctx,
  { principal, key }: Pick<WrittenRequest, "principal" | "key">,
  turn: WrittenTurn,
  write: (inner: Tx) => Promise<AcceptedTurn>,
): Promise<AcceptedTurn> {
  const counts = isOwnLimit(principal.tenant);
  const accept = async (inner: Tx) => {
    if (key !== null) {
      await waitForKey(inner, key);
      const joined = await joinByKey(inner, ctx, key);
      if (joined !== null) return joined;
    }
    if (counts) await lockQueueOf(inner, turn.tenantId);
    const accepted = await write(inner);
    if (key !== null) await keepTurn(inner, key, turn.turnId, turn.keepsKeyFor);
    return accepted;
  };
  const run = () => acceptInTransaction(ctx.sql, turn, key, accept);
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
async function acceptInTransaction(
  sql: Sql,
  { sessionId }: Pick<NewTurn, "sessionId">,
  key: IdempotencyKey | null,
  accept: (inner: Tx) => Promise<AcceptedTurn>,
): Promise<AcceptedTurn> {
  const startedAt = Date.now();
  const written: AcceptedTurn[] = [];
  try {
    return await tx(sql, async (inner) => {
      written[0] = await accept(inner);
      return written[0];
    });
  } catch (error) {
    const [turn] = written;
    if (turn === undefined || !isCommitUnsure(error)) throw error;
    const lookUp = () =>
      tx(sql, async (inner) => {
        if (key !== null) await waitForKey(inner, key);
        await inner`select /* session.lock */ 1 from sessions where id = ${sessionId} for no key update`;
        return inner`select /* turn.exists */ 1 from turns where id = ${turn.turnId}`;
      });
    const limitMs = Math.max(lookUpMs, databaseWaitMs - (Date.now() - startedAt));
    const found = await retryWhileUnavailable(lookUp, { limitMs }).catch(() => []);
    if (found.length === 0) throw error;
    return turn;
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
  if (rows.length === 0) throw quotaExceeded(new Date());
}
