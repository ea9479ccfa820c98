import type { Sql } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import type { ToolWrite } from "../../tools/tool.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { claimKeyOf } from "../state/claimed-turn.ts";
import { requireClaim } from "../state/turn.ts";

/**
 * Returns what runs the writing transactions of a turn's tools. A worker that was frozen
 * or cut off may have lost the turn since the tool began: then nothing is written.
 */
export function claimedWrite(sql: Sql, turn: ClaimedTurn): ToolWrite {
  return async (work) => {
    let claim: Promise<void> = Promise.resolve();
    const result = await tx(sql, async (inner) => {
      const written = await work(inner);
      // Last, because what deletes an agent or moves a session locks the turn's row after its own. Nobody waits for it here:
      // the commit goes out right behind it, and is a rollback where the claim is gone.
      claim = requireClaim(inner, claimKeyOf(turn));
      claim.catch(() => {});
      return written;
    });
    await claim;
    return result;
  };
}
