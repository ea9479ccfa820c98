import { tellBudgetsOfTurn } from "../src/budgets/tell.ts";
import { tellChat } from "../src/chat/after-turn.ts";
import type { Ctx } from "../src/kernel/context.ts";
import type { JobPayloads } from "../src/kernel/queue/catalogue.ts";
import { billTurn } from "../src/merchant/after-turn.ts";
import { endRunOfTurn } from "../src/tasks/run-states.ts";
import { tellTurnEnded } from "../src/webhooks/after-turn.ts";

/**
 * The job `turn.after`: tells those who are not its readers what a turn came to, each in a transaction of its own, which
 * is safe to repeat. The job is added by the statement that ends the turn, so none of them misses it.
 */
export async function afterTurn({ sql, config }: Ctx, { turnId, stopId }: JobPayloads["turn.after"]): Promise<void> {
  if (stopId === turnId) {
    await tellTurnEnded(sql, turnId);
    await tellBudgetsOfTurn(sql, turnId);
    await endRunOfTurn(sql, turnId);
    await billTurn(sql, turnId, config.platformProvider?.providerType ?? null);
  }
  await tellChat(sql, { turnId, stopId });
}
