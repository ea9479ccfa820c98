import type postgres from "postgres";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { unavailable } from "../kernel/database/failure.ts";
import { budgetExceeded, readExceeded } from "./exceeded.ts";
import {
  countsFor,
  isSumOf,
  keyOf,
  ownerOf,
  periodLength,
  periodStart,
  sumAgent,
  sumKey,
  sumUser,
  type TurnOwner,
} from "./sums.ts";

/**
 * Parts of the statements that let turns in. Budgets of tokens and money are asked, those of turns are counted too: their
 * sums are locked before anything is written, so that no other statement counts until this one is committed, and a turn
 * that is refused for any reason counts nowhere.
 */

/** Those that a statement wants to let in: rows `c` of `from`, each with an id. */
export interface Candidates extends TurnOwner {
  readonly from: postgres.Fragment;
  readonly turnId: postgres.Fragment;
}

/**
 * Returns the CTEs that decide on candidates: `judged` has a row for each that a budget counts, with `exceeded`, the budget
 * that refuses it (of several the one that does so for longest), `is_unopened` (a sum of turns has no row yet:
 * `openSums` writes it) and `is_beyond` (with those before it in this statement it would be one too many).
 */
export function judgeTurns(sql: AnySql, { from, turnId, ...owner }: Candidates): postgres.Fragment {
  return sql`counting as materialized (
      select ${turnId} as turn_id, b.id as budget_id, b.series, ${periodStart(sql)} as period_start,
        ${sumUser(sql, owner.userId)} as user_id, ${sumAgent(sql, owner.agentId)} as agent_id,
        b.measure = 'turns' as counts, b.enabled, b.limit_amount,
        ${periodLength(sql)} as length,
        case when b.measure <> 'turns' then coalesce((select s.used from budget_spending s where ${isSumOf(sql, owner)}), 0) end as asked
      from ${from} join budgets b on ${countsFor(sql, owner)}
    ), counted_sums as materialized (
      select k.*, held.used from (select distinct ${sumKey(sql)} from counting where counts order by ${sumKey(sql)}) k
      cross join lateral (
        select s.used from budget_spending s
        where (${keyOf(sql, "s")}) = (${keyOf(sql, "k")})
        for no key update
      ) held
    ), judged as materialized (
      select turn_id, bool_or(counts and used is null) as is_unopened, bool_or(enabled and counts and used + place > limit_amount) as is_beyond,
        (array_agg(budget_id order by length desc, budget_id) filter (where enabled and coalesce(used, 0) >= limit_amount))[1] as exceeded
      from (
        select turn_id, budget_id, counts, enabled, limit_amount, length, coalesce(counted_sums.used, asked) as used,
          row_number() over (partition by ${sumKey(sql)} order by turn_id) as place
        from counting left join counted_sums using (${sumKey(sql)})
      ) sums
      group by turn_id
    )`;
}

/** Returns the CTE `tallied` that counts the turns that were let in: rows of `accepted`, by their `id`. */
export function tallyTurns(sql: AnySql): postgres.Fragment {
  return sql`tallied as (
      update budget_spending s set used = s.used + n.turns from (
        select ${sumKey(sql)}, count(*) as turns from counting join accepted on accepted.id = counting.turn_id where counts
        group by ${sumKey(sql)}
      ) n
      where (${keyOf(sql, "s")}) = (${keyOf(sql, "n")})
    )`;
}

/** A turn that is to be let in: of an existing session, its user is the session's. */
export interface OwnedTurn {
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly userId: string;
}

/** Writes the rows of a turn's sums of turns that are not there yet: each is the first turn of its period. */
export async function openSums(sql: AnySql, turn: OwnedTurn): Promise<void> {
  const owner = ownerOf(sql, "o");
  await sql`
    with /* budget.open */ o as materialized (
      select ${turn.tenantId}::text as tenant_id, ${turn.agentId}::text as agent_id,
        coalesce((select user_id from sessions where id = ${turn.sessionId}::text), ${turn.userId}::text) as user_id
    )
    insert into budget_spending (${sumKey(sql)})
    select b.id, b.series, ${periodStart(sql)}, ${sumUser(sql, owner.userId)}, ${sumAgent(sql, owner.agentId)}
    from o join budgets b on ${countsFor(sql, owner)} and b.measure = 'turns'
    order by 1, 2, 3, 4, 5 on conflict do nothing`;
}

interface Judged {
  readonly isUnopened: boolean;
  readonly exceeded: string | null;
}

/**
 * Counts a turn that leaves the line of its session, in the transaction that moves it. Throws 429 `budget_exceeded`, having
 * counted nothing.
 */
export async function countTowardsBudgets(
  inner: Tx,
  turn: { readonly id: string; readonly tenantId: string; readonly agentId: string; readonly userId: string },
): Promise<void> {
  const first = await countOne(inner, turn);
  if (first?.isUnopened === true && first.exceeded === null) {
    await openSums(inner, { ...turn, sessionId: null });
    return refuseWhere(inner, await countOne(inner, turn));
  }
  return refuseWhere(inner, first);
}

async function refuseWhere(inner: Tx, judged: Judged | undefined): Promise<void> {
  const budget = judged?.exceeded == null ? null : await readExceeded(inner, judged.exceeded);
  if (budget !== null) throw budgetExceeded(budget);
  // The period has ended between two statements, or the budget was deleted.
  if (judged?.exceeded != null || judged?.isUnopened === true) throw unavailable();
}

async function countOne(
  inner: Tx,
  turn: { readonly id: string; readonly tenantId: string; readonly agentId: string; readonly userId: string },
): Promise<Judged | undefined> {
  const [judged] = await inner<Judged[]>`
    with /* budget.count_turn */ c as materialized (
      select ${turn.id}::text as id, ${turn.tenantId}::text as tenant_id, ${turn.agentId}::text as agent_id, ${turn.userId}::text as user_id
    ), ${judgeTurns(inner, { from: inner`c`, turnId: inner`c.id`, ...ownerOf(inner, "c") })},
    accepted as (
      select turn_id as id from judged where exceeded is null and not is_unopened
    ), ${tallyTurns(inner)}
    select is_unopened, exceeded from judged`;
  return judged;
}
